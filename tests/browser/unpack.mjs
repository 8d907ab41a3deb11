// Unpacks what npm's @sparticuz/chromium holds into the directory that TMPDIR names.
import { inflate } from "@sparticuz/chromium";

const bin = process.argv[2];
for (const name of ["chromium.br", "fonts.tar.br", "al2023.tar.br", "swiftshader.tar.br"]) await inflate(`${bin}/${name}`);
