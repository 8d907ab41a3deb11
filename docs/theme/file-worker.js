// A page that was opened from a file may not start a Worker, so the search would not work. This one runs the worker's script in a
// hidden frame, with the few members that the search uses. It is loaded on every page, and does nothing where a server sent it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      this.ready = new Promise((resolve) => { inside.started = resolve; });
      inside.document.open();
      inside.document.write(
        `<script>
          postMessage = (data) => parent.postMessage(data, "*");
          importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((loaded, failed) => {
            const script = document.createElement("script");
            Object.assign(script, { src: url, onload: loaded, onerror: failed });
            document.body.appendChild(script);
          })), Promise.resolve());
        <\/script><body><script src="${url}"><\/script><script>started()<\/script>`);
      inside.document.close();
      this.inside = inside;
      this.listener = (event) => {
        if (event.source !== inside) return;
        event.stopImmediatePropagation();
        const passed = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(passed);
        this.onmessage?.(passed);
      };
      addEventListener("message", this.listener);
    }

    postMessage(data) {
      const copy = structuredClone(data); // as a Worker gets it: the script may change its own
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data: copy })));
    }

    terminate() {
      removeEventListener("message", this.listener);
      this.inside.frameElement.remove();
    }
  };
}
