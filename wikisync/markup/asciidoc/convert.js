/* Runs inside the JavaScript engine, after Asciidoctor: sets it up once as the service
 * does.  A page is begun by `start` and goes on with `resume` where it wants to include
 * something; what it has come to is `state`. */
"use strict";

/* Asciidoctor measures the values of attributes in bytes; the engines have neither. */
globalThis.TextEncoder ??= class {
  encode(text) {
    return Uint8Array.from(unescape(encodeURIComponent(text)), (sign) => sign.charCodeAt(0));
  }
};
globalThis.TextDecoder ??= class {
  decode(bytes) {
    return decodeURIComponent(escape(String.fromCharCode(...bytes)));
  }
};

const HIGHLIGHTER = "gitlab-html-pipeline";
const DIAGRAMS = new Set(["mermaid", "plantuml", "graphviz", "ditaa"]);
const INCLUDES_MAX = 32;

const escapeAttribute = (value) =>
  String(value).replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
const idAttribute = (node) => (node.id ? ` id="${escapeAttribute(node.id)}"` : "");

/* Code leaves as the shared filters expect it: a language and plain text. */
const codeBlock = (language, content, meta = "") =>
  `<pre data-canonical-lang="${escapeAttribute(language)}"${meta}><code>${content}</code></pre>`;

/* How its lines are shown, which the service leaves out: in the words of Markdown. */
const linesOf = (node) => {
  const said = ["start", "highlight"].filter((name) => node.hasAttribute(name));
  const words = said.map((name) => `${name}="${String(node.getAttribute(name)).replace(/"/g, "")}"`);
  if (node.hasAttribute("linenums") || node.hasAttribute("linenums-option")) words.push("linenums");
  else if (!node.hasAttribute("highlight")) return "";
  return ` data-meta="${escapeAttribute(words.join(" "))}"`;
};

class Highlighter extends asciidoctor.SyntaxHighlighterBase {
  async format(node, language) {
    const content = await node.content();
    return language ? codeBlock(language, content, linesOf(node)) : `<pre><code>${content}</code></pre>`;
  }
}
asciidoctor.SyntaxHighlighter.register(Highlighter, HIGHLIGHTER);

/* What the service's converter writes, by the methods of Asciidoctor's. */
const converter = asciidoctor.Html5Converter.prototype;
const override = (name, made) => {
  const plain = converter[name];
  converter[name] = function (node) {
    return made(node, () => plain.call(this, node));
  };
};

/* Asciidoctor gives TeX as text between \( and \); the service marks it up. */
override("convert_stem", async (node, plain) => {
  if (node.style !== "latexmath") return plain();
  const content = await node.content();
  return `<pre${idAttribute(node)} data-math-style="display"><code>${content}</code></pre>`;
});
override("convert_inline_quoted", async (node, plain) => {
  if (node.type !== "latexmath") return plain();
  return `<code${idAttribute(node)} data-math-style="inline">${node.text}</code>`;
});

const diagram = async (node, plain) =>
  DIAGRAMS.has(node.style) ? codeBlock(node.style, await node.content()) : plain();
override("convert_listing", diagram);
override("convert_literal", diagram);

/* Widths are styles to the service, whose sanitiser takes them away. */
override("convert_table", async (node, plain) =>
  (await plain()).replace(/(<(?:table [^<>]*?|col)) width="([^"]*)"/g, '$1 style="width: $2;"'));
override("convert_page_break", async () => '<div style="page-break-after: always;"></div>');

/* In a page of the older syntax the attribute of such a link is its text. */
override("convert_inline_anchor", async (node, plain) =>
  node.role === "include" ? `<a href="${node.target}">role=include</a>` : plain());

/* Asciidoctor numbers the notes of lists and tables when it writes them, and forgets
 * which one a second mention, in another item, means. */
const notes = asciidoctor.Document.prototype;
const { _resolveFootnoteIndex: numberOf, _resolveFootnotePlaceholdersIn: numbered } = notes;
notes._resolveFootnoteIndex = function (note) {
  const placeholder = note.index;
  const number = numberOf.call(this, note);
  (this.numberedNotes ??= new Map()).set(placeholder, number);
  return number;
};
notes._resolveFootnotePlaceholdersIn = function (text) {
  const made = numbered.call(this, text);
  if (!this.numberedNotes || typeof made !== "string") return made;
  return made.replace(/\x01\x01fn:\d+\x01\x01/g, (one) => this.numberedNotes.get(one) ?? one);
};

/* It writes the cells that hold AsciiDoc before the page, and passes over those of
 * description lists, whose items are pairs. */
const { _convertAsciiDocCells: convertCells } = notes;
notes._convertAsciiDocCells = function (block = this) {
  const isPaired = block.context === "dlist";
  return convertCells.call(this, isPaired ? { blocks: block.blocks.flat(2).filter(Boolean) } : block);
};

/* Players are written by the filter that all formats share, from a picture whose
 * name says that it is none; the sanitiser's list has no player. */
const media = (kind) => async (node) => {
  const source = escapeAttribute(node.mediaUri(node.getAttribute("target")));
  const title = node.hasTitle() ? `<div class="title">${node.title}</div>\n` : "";
  return `<div${idAttribute(node)} class="${kind}block">\n${title}<div class="content">\n<img src="${source}" alt="${source}">\n</div>\n</div>`;
};
const HOSTED = new Set(["youtube", "vimeo", "wistia"]);
const video = media("video");
override("convert_video", async (node, plain) =>
  HOSTED.has(node.getAttribute("poster")) ? plain() : video(node));
override("convert_audio", media("audio"));

const WHERE = /^asciidoctor: FAILED: [^\n]*? - /;

/* The page that is rendered: its HTML, or what it waits for, or what failed. */
let outcome = null;
let answered = null;
let includes = 0;
let isAlone = false;

const ask = (request) =>
  new Promise((resolve) => {
    outcome = { asked: request };
    answered = resolve;
  });

const includeAttribute = (attributes, name) =>
  attributes[name] === undefined ? null : String(attributes[name]);

const linkTo = (target) =>
  `link:${target.includes(" ") ? `pass:c[${target}]` : target}[role=include]`;

async function processInclude(document, reader, target, attributes) {
  if (isAlone) {
    reader.unshiftLine(linkTo(target));
    return;
  }
  includes += 1;
  const answer = includes > INCLUDES_MAX ? { text: null } : await ask({
    target,
    includer: String(reader.file ?? ""),
    depth: reader.includeStack.length,
    lines: includeAttribute(attributes, "lines"),
    tags: includeAttribute(attributes, "tags") ?? includeAttribute(attributes, "tag"),
  });
  if (answer.text === null) {
    if (attributes["optional-option"] !== undefined) return;
    reader.unshiftLine(`*[ERROR: include::${target}[] - unresolved directive]*`);
    return;
  }
  reader.pushInclude(answer.text, answer.path, answer.path, 1, attributes);
}

/* Nothing outlives the page: registry, document and attributes are its own.
 * A page that stands alone shows its includes as links, which is what Asciidoctor
 * does in secure mode; in a wiki one that cannot be had is an error to be seen. */
function start(source, attributes, alone) {
  outcome = answered = null;
  includes = 0;
  isAlone = alone;
  asciidoctor.LoggerManager.logger = new asciidoctor.NullLogger();
  const registry = asciidoctor.Extensions.create();
  registry.includeProcessor(function () {
    this.handles(() => true);
    this.process(processInclude);
  });
  asciidoctor.convert(source, {
    safe: "secure",
    standalone: false,
    attributes: JSON.parse(attributes),
    extension_registry: registry,
  }).then(
    (html) => (outcome = { html }),
    (error) => (outcome = { error: String(error?.message ?? error).replace(WHERE, "") })
  );
  return true;
}

function resume(answer) {
  outcome = null;
  answered(JSON.parse(answer));
  return true;
}

function state() {
  return JSON.stringify(outcome);
}
