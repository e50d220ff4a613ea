/* Runs inside the JavaScript engine, after Asciidoctor: sets it up once as the
 * service does and leaves one function, `render(source, attributes, isAlone)`.
 * Names that start with "$" are Asciidoctor's own methods as compiled from Ruby. */
"use strict";

const asciidoctor = Asciidoctor$$module$build$asciidoctor_browser();
const HIGHLIGHTER = "gitlab-html-pipeline";
const DIAGRAMS = new Set(["mermaid", "plantuml", "graphviz", "ditaa"]);

const escapeAttribute = (value) =>
  String(value).replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
const text = (value) => (value === Opal.nil ? "" : String(value));
const idAttribute = (node) =>
  node.$id() === Opal.nil ? "" : ` id="${escapeAttribute(node.$id())}"`;

/* Code leaves as the shared filters expect it: a language and plain text. */
const codeBlock = (language, content) =>
  `<pre data-canonical-lang="${escapeAttribute(language)}"><code>${content}</code></pre>`;

asciidoctor.SyntaxHighlighter.register(HIGHLIGHTER, {
  format(node, language) {
    const content = text(node.$content());
    return language ? codeBlock(language, content) : `<pre><code>${content}</code></pre>`;
  },
});

/* Asciidoctor gives TeX as text between \( and \); the service marks it up. */
const converter = asciidoctor.Html5Converter.$$prototype;
const plain = {
  stem: converter.$convert_stem,
  quoted: converter.$convert_inline_quoted,
  listing: converter.$convert_listing,
  literal: converter.$convert_literal,
};
const override = (name, method) => Opal.def(asciidoctor.Html5Converter, name, method);

override("$convert_stem", function (node) {
  if (text(node.$style()) !== "latexmath") return plain.stem.call(this, node);
  const content = text(node.$content());
  return `<pre${idAttribute(node)} data-math-style="display"><code>${content}</code></pre>`;
});

override("$convert_inline_quoted", function (node) {
  if (text(node.$type()) !== "latexmath") return plain.quoted.call(this, node);
  return `<code${idAttribute(node)} data-math-style="inline">${text(node.$text())}</code>`;
});

const diagramOr = (original) =>
  function (node) {
    const style = text(node.$style());
    if (!DIAGRAMS.has(style)) return original.call(this, node);
    return codeBlock(style, text(node.$content()));
  };
override("$convert_listing", diagramOr(plain.listing));
override("$convert_literal", diagramOr(plain.literal));

/* Players are written by the filter that all formats share, from a picture whose
 * name says that it is none; the sanitiser's list has no player. */
const media = (kind) =>
  function (node) {
    const source = escapeAttribute(node.$media_uri(node.$attr("target")));
    const title = node["$title?"]() ? `<div class="title">${text(node.$title())}</div>\n` : "";
    return `<div${idAttribute(node)} class="${kind}block">\n${title}<div class="content">\n<img src="${source}" alt="${source}">\n</div>\n</div>`;
  };
const HOSTED = new Set(["youtube", "vimeo", "wistia"]);
const plainVideo = converter.$convert_video;
override("$convert_video", function (node) {
  const isHosted = HOSTED.has(text(node.$attr("poster")));
  return isHosted ? plainVideo.call(this, node) : media("video").call(this, node);
});
override("$convert_audio", media("audio"));

/* `include(request)` is given by the worker: JSON to JSON, text null if missing. */
const includeAttribute = (attributes, name) =>
  attributes[name] === undefined ? null : String(attributes[name]);

const INCLUDES_MAX = 32;
let includes = 0;

function processInclude(document, reader, target, attributes) {
  includes += 1;
  const answer = includes > INCLUDES_MAX ? { text: null } : JSON.parse(
    include(
      JSON.stringify({
        target,
        includer: text(reader.file),
        depth: reader.include_stack.length,
        lines: includeAttribute(attributes, "lines"),
        tags: includeAttribute(attributes, "tags") ?? includeAttribute(attributes, "tag"),
      })
    )
  );
  if (answer.text === null) {
    if (attributes["optional-option"] !== undefined) return;
    reader.$unshift_line(`*[ERROR: include::${target}[] - unresolved directive]*`);
    return;
  }
  reader.pushInclude(answer.text, answer.path, answer.path, 1, attributes);
}

const silent = asciidoctor.NullLogger.create();

/* Nothing outlives the call: registry, document and attributes are its own.
 * A page that stands alone shows its includes as links, which is what Asciidoctor
 * does in secure mode; in a wiki one that cannot be had is an error to be seen. */
function render(source, attributes, isAlone) {
  asciidoctor.LoggerManager.setLogger(silent);
  includes = 0;
  const registry = asciidoctor.Extensions.create();
  if (!isAlone) {
    registry.includeProcessor(function () {
      this.handles(() => true);
      this.process(processInclude);
    });
  }
  return asciidoctor.convert(source, {
    safe: "secure",
    standalone: false,
    attributes: JSON.parse(attributes),
    extension_registry: registry,
  });
}

/* For an engine that cannot call out while a page is rendered: `known` has the
 * answers by their requests, and what is not among them is asked for by the result. */
function renderWith(source, attributes, isAlone, known) {
  const asked = new Set();
  globalThis.include = (request) => {
    if (known[request] !== undefined) return known[request];
    asked.add(request);
    return '{"text":"","path":""}';
  };
  const html = render(source, attributes, isAlone);
  return JSON.stringify({ html, asked: [...asked] });
}
