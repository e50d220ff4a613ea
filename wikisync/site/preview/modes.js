// Highlighting of the four formats for the editor, line by line, and how each writes
// what the toolbar offers.
import { HighlightStyle, StreamLanguage, tags } from "./codemirror.js";

// Addresses of the page's links that lead nowhere, as the last draft told.
let broken = [];
export const breakLinks = (hrefs) => (broken = hrefs.filter(Boolean).map(inSource));
// Some formats name a heading of the page without a sign.
export const inSource = (href) => href.replace(/^#/, "");

const URL_RULE = [/https?:\/\/[^\s\])>]+/, "link"];

// A format: lines that begin a block of code and those that end it, rules for whole
// lines, and rules for what stands in a line; the first that fits wins.
function mode({ fence, fenceEnd, comment, heading, list, inline }) {
	return () => StreamLanguage.define({
		startState: () => ({ end: null }),
		copyState: (state) => ({ end: state.end }),
		token(stream, state) {
			if (stream.sol()) {
				if (state.end) {
					if (state.end(stream.string)) state.end = null;
					stream.skipToEnd();
					return "monospace";
				}
				const opened = fence && fence.exec(stream.string);
				if (opened) {
					state.end = fenceEnd(opened);
					stream.skipToEnd();
					return "monospace";
				}
				if (comment && stream.match(comment)) {
					stream.skipToEnd();
					return "comment";
				}
				if (stream.match(heading)) {
					stream.skipToEnd();
					return "heading";
				}
				if (stream.match(list)) return "keyword";
			}
			for (const [rule, tag] of inline) {
				if (!stream.match(rule)) continue;
				const found = tag === "link" && broken.some((href) => stream.current().includes(href));
				return found ? "link invalid" : tag;
			}
			if (!stream.match(/^[^\s\W_]+/)) stream.next();
			return null;
		},
	});
}

const anchored = (rules) => rules.map(([rule, tag]) => [new RegExp(`^(?:${rule.source})`, rule.flags), tag]);
const until = (line) => (text) => text.trim() === line;

const markdown = mode({
	fence: /^\s{0,3}(`{3,}|~{3,})/,
	fenceEnd: ([, mark]) => (text) => text.trim().startsWith(mark) && !text.trim().slice(mark.length).replaceAll(mark[0], ""),
	heading: /^#{1,6}\s/,
	list: /^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s)?|^\s*>\s?/,
	inline: anchored([[/`[^`]+`/, "monospace"], [/\*\*[^*\s][^*]*\*\*|__[^_\s][^_]*__/, "strong"], [/\*[^*\s][^*]*\*|_[^_\s][^_]*_/, "emphasis"], [/!?\[\[[^\]]*\]\]|!?\[[^\]]*\]\([^)]*\)/, "link"], URL_RULE]),
});

const asciidoc = mode({
	fence: /^(-{4,}|\.{4,}|\+{4,}|`{3,})/,
	fenceEnd: ([, mark]) => until(mark),
	comment: /^\/\/(?!\/)|^:[\w-]+!?:/,
	heading: /^={1,6}\s/,
	list: /^\s*(?:\*{1,5}|-|\.{1,5}|\d+\.)\s+(?:\[[ xX*]\]\s)?|^\[[^\]]*\]$/,
	inline: anchored([[/`[^`]+`/, "monospace"], [/\*[^*\s][^*]*\*/, "strong"], [/_[^_\s][^_]*_/, "emphasis"], [/<<[^>]*>>|(?:link|xref|image|include):{1,2}[^\s[]*\[[^\]]*\]/, "link"], URL_RULE]),
});

const org = mode({
	fence: /^\s*#\+begin_(\w+)/i,
	fenceEnd: ([, name]) => (text) => text.trim().toLowerCase() === `#+end_${name.toLowerCase()}`,
	comment: /^\s*#(?:\+\w+:|\s)|^\s*:\w+:/,
	heading: /^\*+\s/,
	list: /^\s*(?:[-+]|\d+[.)])\s+(?:\[[ xX-]\]\s)?/,
	inline: anchored([[/[~=][^~=\s][^~=]*[~=]/, "monospace"], [/\*[^*\s][^*]*\*/, "strong"], [/\/[^/\s][^/]*\//, "emphasis"], [/\[\[[^\]]*\](?:\[[^\]]*\])?\]/, "link"], URL_RULE]),
});

const rdoc = mode({
	comment: /^:\w+:/,
	heading: /^={1,6}(?=[^=])/,
	list: /^\s*(?:[-*]|\d+\.|[a-z]\.|\[[^\]]+\]|\S+::)\s+/,
	inline: anchored([[/\+[^+\s]+\+|<(tt|code)>.*?<\/\1>/, "monospace"], [/\*[^*\s]+\*|<b>.*?<\/b>/, "strong"], [/_[^_\s]+_|<(em|i)>.*?<\/\1>/, "emphasis"], [/\{[^}]*\}\[[^\]]*\]|\w+\[[^\]]*\]|(?:rdoc-\w+|link):\S+/, "link"], URL_RULE]),
});

export const style = HighlightStyle.define([
	{ tag: tags.heading, class: "hl-heading" },
	{ tag: tags.strong, class: "hl-strong" },
	{ tag: tags.emphasis, class: "hl-emphasis" },
	{ tag: tags.monospace, class: "hl-code" },
	{ tag: tags.link, class: "hl-link" },
	{ tag: tags.invalid, class: "hl-broken" },
	{ tag: tags.keyword, class: "hl-mark" },
	{ tag: tags.comment, class: "hl-comment" },
]);

// Per format: its mode, what a heading is in the source, what opens the name of a page
// for completion, and how things are written.
export const FORMATS = {
	markdown: {
		mode: markdown, isHeading: /^#{1,6}\s+\S/, opens: /(?:\]\(|\[\[)([^)\]\s]*)$/, list: "- ", task: "- [ ] ", heading: "## ",
		bold: ["**", "**"], italic: ["_", "_"], code: ["`", "`"],
		link: (text, to) => `[${text}](${to})`, picture: (path, name) => `![${name}](${path})`,
	},
	asciidoc: {
		mode: asciidoc, isHeading: /^={1,6}\s+\S/, opens: /(?:link:|xref:|image::?)([^\s[]*)$/, list: "* ", task: "* [ ] ", heading: "== ",
		bold: ["*", "*"], italic: ["_", "_"], code: ["`", "`"],
		link: (text, to) => `${/^\w+:\/\//.test(to) ? "" : "link:"}${to}[${text}]`, picture: (path, name) => `image::${path}[${name}]`,
	},
	org: {
		mode: org, isHeading: /^\*+\s+\S/, opens: /\[\[(?:file:)?([^\]]*)$/, list: "- ", task: "- [ ] ", heading: "** ",
		bold: ["*", "*"], italic: ["/", "/"], code: ["~", "~"],
		link: (text, to) => `[[${to}][${text}]]`, picture: (path) => `[[file:${path}]]`,
	},
	rdoc: {
		mode: rdoc, isHeading: /^={1,6}\s*[^=\s]/, opens: /(?:\}\[|link:)([^\]\s]*)$/, list: "* ", task: "* ", heading: "== ",
		bold: ["<b>", "</b>"], italic: ["<em>", "</em>"], code: ["<tt>", "</tt>"],
		link: (text, to) => `{${text}}[${/^\w+:/.test(to) ? to : `link:${to}`}]`, picture: (path) => `rdoc-image:${path}`,
	},
};
