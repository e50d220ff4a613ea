// The editor in the page: the source beside the page that it makes.  It is loaded when
// somebody edits.  A text that no file holds yet lies in the browser's storage, under the
// page and the tab, until one does.  What the server is asked for, and what it refuses,
// is in routes.py; how a save is merged, in writing.py.
import { autocompletion, Compartment, completionKeymap, defaultKeymap, drawSelection, EditorSelection, EditorState, EditorView, highlightActiveLine, highlightSpecialChars, history, historyKeymap, indentLess, indentMore, keymap, openSearchPanel, redo, search, searchKeymap, syntaxHighlighting, undo } from "./codemirror.js";
import { closedDrafts, Desk, draftKey, dropDraft, hasPage, href, isDark, kept, named } from "./desk.js";
import { breakLinks, FORMATS, inSource, style as highlighting } from "./modes.js";

// A change with this mark is left alone by undo.
const { addToHistory } = EditorState.create().update({}).constructor;
const OPEN = "wikisync-writing";
const TAB = "wikisync-tab";
const RENDER_MS = 60;
const KEEP_MS = 250;
const LOCK_MS = 1000;
// On a busy machine a page that is loaded again outlives itself for so long.
const RELOADED_MS = 20_000;
// Only the first lock that a page asks for may be that of the one that it was.
let lockMs = performance.getEntriesByType("navigation")[0].type === "reload" ? RELOADED_MS : LOCK_MS;
// A page with more characters is kept and measured in a rest.
const BIG = 100_000;
const REST_MS = 1500;
const AHEAD_MS = 600;
// So many blocks a key may change; those of a page that is loaded are more.
const FEW = 10;
const PART = "wikisync-part";
const PART_MAX = 50;
// Letters of scripts that run so, and whether one is the first of a text, below its front
// matter.  Each line that has letters then has the direction of its own first one.
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const RIGHT_TO_LEFT = new RegExp(`^(?:---\\n.*?\\n---\\n)?\\P{L}*${LEFTWARD.source}`, "su");
const DIRECTION_MAX = 2000;
const Decoration = decorationClass();

const SHEET = `
	.write { position: fixed; inset: 0 50% 0 0; contain: strict; z-index: 2147483645; box-sizing: border-box; display: flex; flex-direction: column; background: var(--page); color: var(--ink); border-right: 1px solid var(--line); font: 0.875rem/1.45 system-ui, sans-serif;
		--page: #fff; --ink: #1b1b1f; --line: #73737d; --button: #eeeef2; --soft: #55555e; --link: #0b57b0; --code: #7a3e00; --sel: #b8d4f5; --own: #e6f4ea; --other: #fdecea; }
	.write.dark { --page: #1d1d22; --ink: #ececf1; --line: #8a8a95; --button: #33333b; --soft: #b5b5c0; --link: #8ab8ff; --code: #f0b878; --sel: #264a78; --own: #17351f; --other: #43201d; color-scheme: dark; }
	.tools { display: flex; flex-wrap: wrap; gap: 3px; padding: 6px; border-bottom: 1px solid var(--line); }
	.write button { font: inherit; color: inherit; background: var(--button); border: 1px solid var(--line); border-radius: 5px; padding: 3px 7px; min-height: 28px; min-width: 28px; cursor: pointer; }
	.write button:focus-visible, .write input:focus-visible { outline: 2px solid var(--link, #0b57b0); outline-offset: 1px; }
	.write button[disabled] { opacity: 1; color: var(--soft); cursor: default; }
	.write .main-button { background: #0b57b0; color: #fff; border-color: #0b57b0; }
	.write .main-button[disabled] { background: var(--button); color: var(--soft); border-color: var(--line); }
	.gap { flex: 1; }
	.source { flex: 1; min-height: 0; position: relative; }
	.said { padding: 4px 10px; border-top: 1px solid var(--line); min-height: 1.5em; overflow-wrap: anywhere; padding-right: 10px; }
	.wrong { margin: 0; padding: 4px 10px; list-style: none; max-height: 6.5em; overflow: auto; border-top: 1px solid var(--line); } .wrong button { text-align: left; margin: 1px 0; overflow-wrap: anywhere; }
	.said.bad { border-left: 5px solid #c1121f; }
	.switch { display: none; }
	@media (max-width: 50rem) {
		.write { right: 0; } .write.page { bottom: auto; contain: none; border-bottom: 1px solid var(--line); } .write.page .source, .write.page .said, .write.page .wrong, .write.page .only-text, .write:not(.page) ~ .dock .bar { display: none; }
		.switch { display: inline-block; }
		.cm-editor .cm-panels { max-height: 50%; overflow: auto; } .source:has(.cm-search) ~ .wrong { display: none; }
	}
	.cm-editor { height: 100%; } .cm-editor.cm-focused { outline: 2px solid var(--link); outline-offset: -2px; }
	.cm-scroller { font: 0.875rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; overflow: auto; }
	.cm-content { padding: 10px 4px 24px; caret-color: var(--ink); } .cm-editor [dir=rtl] .cm-line, .cm-editor .cm-line[dir=rtl] { padding: 0 6px 0 2px; } .cm-editor .cm-line[dir=ltr] { padding: 0 2px 0 6px; }
	.cm-editor .cm-cursor { border-left-color: var(--ink); border-left-width: 2px; }
	.cm-editor .cm-activeLine { background: transparent; }
	.cm-editor .cm-selectionBackground, .cm-editor.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground { background: var(--sel); }
	.cm-editor .cm-panels { background: var(--button); color: var(--ink); border-color: var(--line); }
	.cm-editor .cm-panel.cm-search label { font-size: 0.8125rem; } .cm-editor .cm-textfield { color: var(--ink); background: var(--page); border: 1px solid var(--line); font-size: 0.8125rem; }
	.cm-editor .cm-button { color: var(--ink); background: var(--page); border: 1px solid var(--line); border-radius: 5px; font-size: 0.8125rem; }
	.cm-editor .cm-panel.cm-search [name=close] { color: var(--ink); }
	.cm-editor .cm-tooltip { background: var(--page); color: var(--ink); border: 1px solid var(--line); }
	.cm-editor .cm-tooltip-autocomplete ul li[aria-selected] { background: #0b57b0; color: #fff; }
	.hl-heading, .hl-strong { font-weight: 700; } .hl-emphasis { font-style: italic; } .hl-code { color: var(--code); } .hl-link { color: var(--link); } .hl-mark { color: var(--link); font-weight: 700; } .hl-comment { color: var(--soft); } .hl-broken { text-decoration: underline wavy #c1121f; }
	@media print { .write { display: none; } }
`;
const PAGE_SHEET = `
	html.wikisync-writing, html.wikisync-writing body { overflow: hidden; }
	html.wikisync-writing main { contain: strict; position: fixed !important; inset: 0 0 0 50% !important; z-index: 2147483644; display: block !important; box-sizing: border-box; margin: 0 !important; max-width: none !important; width: auto !important; padding: 20px 28px 80px !important; overflow: auto !important; }
	html.wikisync-writing main :is(nav, aside, details:has(nav)) { display: none; }
	html.wikisync-big main :is(article > *, wikisync-part) { content-visibility: auto; contain-intrinsic-height: auto 4em; }
	html.wikisync-big main article > :is(h1, h2, h3, h4, h5, h6) { content-visibility: visible; }
	.layout > main:not(:has(.contents)) wikisync-part > :is(form, p, ul, ol, dl, blockquote, .markdown-alert, .admonitionblock) { max-width: 46rem; }
	wikisync-part { display: block; } wikisync-part:empty { display: none; }
	@media (max-width: 50rem) { html.wikisync-writing main { inset: 3.4rem 0 0 0 !important; padding: 12px 16px 80px !important; z-index: 2147483643; } }
`;

export async function write(page, how = {}) {
	const editor = new Editor(page);
	try {
		return await editor.edit(how);
	} catch (refusal) {
		editor.close();
		// the browser refuses to keep texts
		if (refusal instanceof DOMException) throw refusal;
		page.showProblems("The page cannot be edited here", [refusal], true);
		return null;
	}
}

class Editor extends Desk {
	constructor(page) {
		super(page);
		this.mode = new Compartment();
		// the page shows a text already, and may be that of the file
		this.shown = page.own.key;
		this.known = "";
		this.took = this.tookWhole = 0;
		this.addSheet(SHEET);
	}

	// Opening and closing -----------------------------------------------------------

	async edit({ href = "", draft = "" }) {
		const source = await this.ask("source", { href });
		if (!source.file) {
			await this.begin(source, href);
			this.close();
			return null;
		}
		sessionStorage.setItem(OPEN, this.own.at);
		this.identify(source);
		this.base = source.text;
		const heads = headings();
		const seen = heads.findLastIndex((one) => one.getBoundingClientRect().top < innerHeight / 3);
		this.show();
		const lines = this.headingLines();
		// where not all headings are in the text, there is no telling which is which
		if (seen > 0 && lines.length === heads.length) this.goToLine(lines[seen], true);
		this.render(0);
		// what is typed before an earlier text is back would take its place
		await this.alone(async () => {
			// the own text stays where it is
			if (draft) sessionStorage.setItem(TAB, crypto.randomUUID());
			await this.takeTab(this.ids[0]);
			await this.takeDraft(draft);
			this.hasTakenDraft = true;
		});
		if (source.is_conflict) await this.trying(() => this.conflict());
		this.view?.focus();
		return this;
	}

	show() {
		const { make } = this;
		const button = (label, text, act, props = {}) => make("button", { type: "button", textContent: text, title: label, ariaLabel: label, onclick: act, ...props });
		const wrap = (kind) => () => this.wrap(...this.syntax[kind]);
		const prefix = (kind) => () => this.prefix(this.syntax[kind]);
		this.saveButton = button("Save (Ctrl+S)", "Save", () => this.save(), { className: "main-button", disabled: true });
		this.picker = make("input", { type: "file", multiple: true, hidden: true, tabIndex: -1, onchange: () => this.addFiles(this.picker.files) });
		const limit = `${this.bytes_max >> 20} MiB`;
		this.switcher = button("Show the page", "Page", () => this.turn(), { className: "switch" });
		const onlyText = [
			button("Bold (Ctrl+B)", "B", wrap("bold")), button("Italic (Ctrl+I)", "I", wrap("italic")), button("Code", "<>", wrap("code")),
			button("Link (Ctrl+K)", "Link", () => this.link()), button("Heading", "H", prefix("heading")), button("List", "List", prefix("list")), button("Task list", "☑", prefix("task")),
			button(`Image or file, up to ${limit}; or paste or drop it`, "Image", () => this.picker.click()),
			button("Undo (Ctrl+Z)", "↶", () => undo(this.view)), button("Redo (Ctrl+Y)", "↷", () => redo(this.view)), button("Find and replace (Ctrl+F)", "Find", () => openSearchPanel(this.view)),
		];
		for (const one of onlyText) one.classList.add("only-text");
		const tools = make("div", { className: "tools", role: "toolbar", ariaLabel: "Editing" },
			...onlyText, this.picker, make("span", { className: "gap" }), this.switcher,
			button("More: new page, rename, delete", "⋯", () => this.more()), this.saveButton, button("Close the editor", "Close", () => this.leave()));
		const source = make("div", { className: "source" });
		this.said = make("div", { className: "said", role: "status" });
		this.wrong = make("ul", { className: "wrong", ariaLabel: "What is wrong in this text", hidden: true });
		this.box = make("section", { className: "write", ariaLabel: `Editor of ${this.file}` }, tools, source, this.wrong, this.said);
		this.page.root.prepend(this.box);
		this.isTwoWay = LEFTWARD.test(this.text);
		this.view = new EditorView({ root: this.page.root, parent: source, state: this.state(this.text) });
		this.arrange();
		this.say(`${this.file}: Ctrl+S saves. The text is kept in this browser until the file holds it.`);
	}

	state(text) {
		return EditorState.create({
			doc: text,
			extensions: [
				// a lone carriage return in a file is a character, and stays
				EditorState.lineSeparator.of("\n"),
				EditorView.clipboardInputFilter.of((pasted) => pasted.replace(/\r\n?/g, "\n")),
				history(), drawSelection(), highlightSpecialChars(), highlightActiveLine(), EditorView.lineWrapping, search({ top: true }),
				this.mode.of(this.syntax.mode()), syntaxHighlighting(highlighting),
				autocompletion({ override: [(context) => this.complete(context)], icons: false }),
				keymap.of([
					{ key: "Mod-b", run: () => this.wrap(...this.syntax.bold), preventDefault: true },
					{ key: "Mod-i", run: () => this.wrap(...this.syntax.italic), preventDefault: true },
					{ key: "Mod-k", run: () => this.link(), preventDefault: true },
					{ key: "Enter", run: (view) => continueList(view, this.syntax) },
					{ key: "Tab", run: (view) => tab(view, this.syntax, true), shift: (view) => tab(view, this.syntax, false) },
					...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap,
				]),
				EditorView.contentAttributes.of(({ state: { doc } }) => ({ dir: RIGHT_TO_LEFT.test(doc.sliceString(0, DIRECTION_MAX)) ? "rtl" : "ltr", spellcheck: "true", autocapitalize: "sentences", "aria-label": `Source of ${this.file}` })),
				EditorView.perLineTextDirection.compute(["doc"], ({ doc, selection }) => (this.isTwoWay ||= LEFTWARD.test(doc.lineAt(selection.main.head).text))),
				EditorView.decorations.of((view) => this.directions(view)),
				EditorView.updateListener.of(({ docChanged, changes }) => {
					if (!docChanged) return;
					this.pending = this.pending?.compose(changes) ?? changes;
					this.changed();
				}),
				EditorView.domEventHandlers({
					paste: (event) => this.addFiles(event.clipboardData?.files, event),
					drop: (event) => this.addFiles(event.dataTransfer?.files, event),
				}),
			],
		});
	}

	directions({ state: { doc }, viewport: { from, to } }) {
		const found = [];
		for (let at = from; this.isTwoWay && at <= to;) {
			const line = doc.lineAt(at);
			const [letter] = /\p{L}/u.exec(line.text.slice(0, DIRECTION_MAX)) ?? [];
			if (letter) found.push(Decoration.line({ attributes: { dir: LEFTWARD.test(letter) ? "rtl" : "ltr" } }).range(line.from));
			at = line.to + 1;
		}
		return Decoration.set(found);
	}

	// The rest of the page stays where it is, out of sight and reach.
	arrange() {
		const main = document.querySelector("main");
		this.pageSheet = new CSSStyleSheet();
		this.pageSheet.replaceSync(PAGE_SHEET);
		document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.pageSheet];
		document.documentElement.classList.add("wikisync-writing");
		document.documentElement.classList.toggle("wikisync-big", this.text.length > BIG);
		this.inert = [];
		for (let one = main; one && one !== document.body; one = one.parentElement)
			for (const other of one.parentElement.children) if (other !== one && other !== this.page.host && !other.inert) this.inert.push(other);
		for (const other of this.inert) other.inert = true;
		this.main = main;
		eased(main);
		this.group();
		const shade = () => {
			main.style.background = getComputedStyle(document.body).backgroundColor;
			this.box.classList.toggle("dark", (this.dark = isDark(main.style.background)));
		};
		shade();
		this.leader = null;
		const lead = (one) => () => (this.leader = one);
		this.listening = new AbortController();
		const { signal } = this.listening;
		const { scrollDOM } = this.view;
		for (const kind of ["pointerenter", "wheel", "touchstart", "keydown", "focusin"]) {
			scrollDOM.addEventListener(kind, lead("text"), { signal, passive: true });
			main.addEventListener(kind, lead("page"), { signal, passive: true });
		}
		scrollDOM.addEventListener("scroll", () => this.leader !== "page" && this.follow(), { signal });
		main.addEventListener("scroll", () => this.leader === "page" && this.follow(), { signal });
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", shade, { signal });
		addEventListener("pagehide", () => this.keep(), { signal });
		addEventListener("beforeunload", (event) => this.keep() || event.preventDefault(), { signal });
		addEventListener("keydown", (event) => {
			if ((event.ctrlKey || event.metaKey) && event.key === "s") {
				event.preventDefault();
				// a question is answered first, and what is under way ends
				if (this.hasTakenDraft && !this.page.root.querySelector("dialog")) Promise.resolve(this.acting).then(() => this.isClosed || this.save());
			}
		}, { signal });
	}

	close(isLeaving = false) {
		if (this.isClosed) return;
		// what was typed may be undone, and the browser not have noted it yet
		if (this.hasTakenDraft && !this.isDirty) this.forget();
		this.isClosed = true;
		clearTimeout(this.rendering);
		clearTimeout(this.keeping);
		clearTimeout(this.following);
		this.freeTab?.();
		this.listening?.abort();
		this.view?.destroy();
		this.box?.remove();
		for (const other of this.inert || []) other.inert = false;
		if (this.main) this.main.style.background = "";
		document.documentElement.classList.remove("wikisync-writing", "wikisync-big");
		document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== this.pageSheet);
		sessionStorage.removeItem(OPEN);
		if (!isLeaving) this.page.left();
	}

	async leave() {
		if (this.isDirty) {
			const answer = await this.dialog("The text is not saved", [], { save: "Save", keep: "Keep it in this browser", drop: "Drop it" });
			if (!answer) return;
			if (answer.did === "save") {
				await this.save();
				if (this.isDirty) return;
			}
			if (answer.did === "keep" && !this.keep()) return;
			if (answer.did === "drop") this.forget();
		}
		this.close();
	}

	// Nobody types while the text is exchanged for another; what asks for that meanwhile
	// comes after.
	alone(act) {
		const focused = this.box.contains(this.page.root.activeElement) ? this.page.root.activeElement : null;
		const acting = Promise.resolve(this.acting).then(() => {
			this.box.inert = true;
			return act();
		});
		this.acting = acting.catch(() => {}).then(() => {
			this.box.inert = false;
			focused?.focus();
		});
		return this.acting.then(() => acting);
	}

	turn() {
		const isPage = this.box.classList.toggle("page");
		this.switcher.textContent = isPage ? "Text" : "Page";
		this.switcher.title = this.switcher.ariaLabel = isPage ? "Show the text" : "Show the page";
		if (!isPage) this.view.requestMeasure();
	}

	say(text, isBad = false) {
		this.refusal = isBad ? `${text} ` : "";
		this.said.textContent = text;
		this.said.classList.toggle("bad", isBad);
	}

	// The page follows the text -----------------------------------------------------

	get text_() {
		return this.view.state.doc.toString();
	}

	get isDirty() {
		return this.view !== undefined && (this.view.state.doc.length !== this.base.length || this.text_ !== this.base);
	}

	changed() {
		this.saveButton.disabled = !this.isDirty;
		// also of one who types without a rest; a big one takes as long as a frame, and is
		// kept behind that of a key, when the next one is not there yet
		const [wait, rest] = this.view.state.doc.length > BIG ? [REST_MS, globalThis.requestIdleCallback] : [KEEP_MS];
		const keep = () => (rest ? rest(() => this.keeping && this.keep(), { timeout: REST_MS }) : this.keep());
		if (!this.keeping) [this.keeping, this.keepAt] = [setTimeout(keep, wait), performance.now() + wait];
		else if (rest && performance.now() > this.keepAt - AHEAD_MS) keep();
		if (this.isDue) return;
		this.isDue = true;
		this.render(Math.min(Math.max(this.took, RENDER_MS), REST_MS));
	}

	// The first drafts after a change may be of the blocks around it alone; in a rest all
	// of the page is rendered.
	render(delay, is_whole = false) {
		clearTimeout(this.rendering);
		this.rendering = setTimeout(() => this.draw(is_whole), delay);
	}

	async draw(is_whole) {
		this.isDue = false;
		if (this.isDrawing) return void (this.isStale = true);
		this.isDrawing = true;
		this.isStale = false;
		const began = performance.now();
		const { at } = this.own;
		const answer = await this.ask("draft", { ...this.changes(), known: this.known || this.shown, is_whole }).catch(() => null);
		this.isDrawing = false;
		if (this.isClosed) return;
		// the page has another name by now: this is not its navigation
		if (at !== this.own.at || (answer ? !this.showDraft(...answer) : this.known)) {
			this.known = this.shown = "";
			this.isStale = true;
		}
		const took = performance.now() - began;
		if (answer?.[0].is_whole) this.tookWhole = took;
		else this.took = took;
		if (this.isStale) this.render(0);
		else if (answer && !answer[0].is_whole && !this.isDue) this.render(Math.max(REST_MS, 4 * this.tookWhole), true);
	}

	// What is another text than that of the draft that is shown; without one, all of it.
	changes() {
		const { pending, view: { state: { doc } } } = this;
		this.pending = null;
		if (!this.known) return { text: doc.toString() };
		const ranges = [];
		pending?.iterChangedRanges((...range) => ranges.push(range));
		if (!ranges.length) return { text: "", stay: [0, 0] };
		const [[start, , from], [, end, , to]] = [ranges[0], ranges.at(-1)];
		return { text: doc.sliceString(from, to), stay: [start, end] };
	}

	// Whether the page could be brought up to date.
	showDraft(draft, marks) {
		const top = this.main.scrollTop;
		const made = (html) => eased(new DOMParser().parseFromString(html, "text/html"));
		if (draft.html) {
			this.page.exchange(made(draft.html), null);
			this.group();
		} else if (!this.exchangeBlocks(draft.count, draft.changes.map(([from, to, html]) => [from, to, [...made(html).body.children]]))) return false;
		this.known = draft.key;
		this.shown = "";
		if (draft.is_whole) {
			this.mark(marks);
			// looking at all of a big page for each key would be felt
			if (this.isFresh) this.page.dress();
			this.isFresh = false;
		}
		this.main.scrollTop = top;
		if (this.leader !== "page") this.follow();
		return true;
	}

	// The blocks of the page, and what comes after them.
	blocks() {
		const comments = document.createTreeWalker(this.main, NodeFilter.SHOW_COMMENT);
		while (comments.nextNode() && comments.currentNode.data !== "blocks");
		const there = [];
		let at = comments.currentNode;
		for (; at && at.data !== "end"; at = at.nextSibling) {
			if (at.localName === PART) there.push(...at.children);
			else if (at.localName) there.push(at);
		}
		return [there, at];
	}

	// In each frame the browser looks at all that it may leave out: of a big page, at few
	// parts instead of thousands of blocks.  Headings stay, as the theme measures them.
	group() {
		const [blocks, end] = this.blocks();
		if (!end || !document.documentElement.classList.contains("wikisync-big")) return;
		// what stands in a line with other text keeps its place in it
		const isInLine = (one) => (one.localName ? getComputedStyle(one).display.startsWith("inline") : one.nodeType === Node.TEXT_NODE && one.data.trim());
		for (let one = end; one && !(one.nodeType === Node.COMMENT_NODE && one.data === "blocks"); one = one.previousSibling) if (isInLine(one)) return;
		let part = null;
		for (const block of blocks) {
			if (/^h\d$/.test(block.localName)) part = null;
			else if (part && part.childElementCount < PART_MAX) part.append(block);
			else {
				part = this.make(PART);
				block.replaceWith(part);
				part.append(block);
			}
		}
		for (const one of this.main.querySelectorAll(PART)) one.style.containIntrinsicHeight = `auto ${4 * one.childElementCount}em`;
	}

	exchangeBlocks(count, changes) {
		const [there, at] = this.blocks();
		// a script of the theme may have done more than to wrap them
		if (!at || there.length !== count) return false;
		if (changes.length) this.isFresh = true;
		this.page.touch();
		for (const [from, to, come] of changes) {
			// else the browser looks whether it is in view, and lays all out once more
			if (this.view.state.doc.length > BIG && come.length < FEW) for (const one of come) one.style.contentVisibility = "visible";
			(there[to] ?? at).before(...come);
			for (const one of there.slice(from, to)) one.remove();
		}
		return true;
	}

	// What the text has wrong, in it and below it; a line is gone to with a click.
	mark(marks) {
		const shown = JSON.stringify(marks);
		if (shown === this.marked) return;
		this.marked = shown;
		breakLinks(marks.map(({ href }) => href));
		this.view.dispatch({ effects: this.mode.reconfigure(this.syntax.mode()) });
		this.wrong.hidden = !marks.length;
		const { doc } = this.view.state;
		const text = doc.toString();
		this.wrong.replaceChildren(...marks.map(({ line: known, href, message }) => {
			// not all formats tell where a link stands
			const at = known || !href ? -1 : text.indexOf(inSource(href));
			const line = at < 0 ? known : doc.lineAt(at).number;
			const textContent = [line && `Line ${line}`, [href, message].filter(Boolean).join(": ")].filter(Boolean).join(": ");
			return this.make("li", {}, this.make("button", { type: "button", textContent, disabled: !line, onclick: () => this.goToLine(line) }));
		}));
	}

	goToLine(number, isAtTop = false) {
		const { doc } = this.view.state;
		const at = doc.line(Math.min(Math.max(number, 1), doc.lines)).from;
		this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: isAtTop ? "start" : "center" }) });
		this.view.focus();
	}

	// Lines of the headings in the text.
	headingLines() {
		const { doc } = this.view.state;
		const found = [];
		let isCode = false;
		let number = 0;
		for (const line of doc.iterLines()) {
			number++;
			if (this.format === "markdown" && /^\s{0,3}(```|~~~)/.test(line)) isCode = !isCode;
			if (!isCode && this.syntax.isHeading.test(line)) found.push(number);
		}
		return found;
	}

	sizes() {
		const { view, main } = this;
		return [view.scrollDOM.scrollHeight, main.scrollHeight, main.clientWidth, view.state.doc.length].join();
	}

	// Headings are the same in both, in order: between two of them the way is even.
	anchors() {
		const { view, main } = this;
		const measured = this.sizes();
		// measuring a big page for each key would be felt
		const isRecent = view.state.doc.length > BIG && performance.now() - this.measuredAt < REST_MS;
		if (this.measured === measured || isRecent) return this.pairs;
		this.measured = measured;
		// a title that no line of the text makes has no id
		const inPage = headings();
		const { doc } = view.state;
		const inText = this.headingLines().map((number) => doc.line(number).from);
		const pairs = [[0, 0]];
		const end = [view.scrollDOM, main].map((one) => Math.max(1, one.scrollHeight - one.clientHeight));
		const base = main.getBoundingClientRect().top - main.scrollTop;
		for (let index = 0; index < inText.length && inPage[index]; index++) {
			const pair = [view.lineBlockAt(inText[index]).top, inPage[index].getBoundingClientRect().top - base];
			const last = pairs.at(-1);
			if (pair.every((at, side) => at > last[side] && at < end[side])) pairs.push(pair);
		}
		this.measuredAt = performance.now();
		return (this.pairs = [...pairs, end]);
	}

	follow() {
		const { scrollDOM } = this.view;
		const [from, to, side] = this.leader === "page" ? [this.main, scrollDOM, 1] : [scrollDOM, this.main, 0];
		const pairs = this.anchors();
		let next = pairs.findIndex((pair) => pair[side] > from.scrollTop);
		if (next < 1) next = pairs.length - 1;
		const [low, high] = [pairs[next - 1], pairs[next]];
		const share = Math.min(1, (from.scrollTop - low[side]) / (high[side] - low[side]));
		to.scrollTop = low[1 - side] + share * (high[1 - side] - low[1 - side]);
		// blocks of a big page get their height when they come into view
		if (this.view.state.doc.length > BIG) this.following ??= setTimeout(() => {
			this.following = null;
			if (!this.isClosed && this.sizes() !== this.measured) this.follow();
		}, REST_MS);
	}

	// What the preview says of the page, while somebody writes it.
	async hear(news) {
		if (news.run !== this.own.run) await this.renewRun(this.own.run);
		if (news.key === this.own.key) return;
		this.own.key = news.key;
		await this.look();
	}

	// One look after the other.
	look() {
		return (this.looking = Promise.resolve(this.looking).catch(() => {}).then(() => this.lookNow()));
	}

	async lookNow() {
		// a save knows more, and looks when it is done
		if (this.isSaving) return void (this.isBehind = true);
		const { base } = this;
		const source = await this.ask("source").catch((refusal) => refusal);
		if (this.isClosed || source.isLost) return;
		if (this.isSaving || this.base !== base) return this.lookNow();
		if (!source.file) return this.say("The file of this page is gone. Your text is kept in this browser; Save writes it again.", true);
		if (source.ids[0] !== this.ids[0]) {
			await this.moveTo(source);
			return this.lookNow();
		}
		if (source.text !== this.base && !this.isDirty) {
			this.take(source.text);
			this.say("The file was changed; this is its text.");
		} else if (source.text !== this.base) {
			this.say("The file was changed meanwhile. Save merges both texts.");
		}
		this.render(0);
	}

	// The window shows this page, without being loaded again.
	identify(source) {
		Object.assign(this, source);
		this.syntax = FORMATS[this.format] || { ...FORMATS.markdown, mode: () => [], isHeading: /$^/ };
		// a browser may give an address another Unicode form
		if (source.address.normalize() === this.own.at.normalize()) return;
		this.page.moveTo(source.address);
		sessionStorage.setItem(OPEN, source.address);
	}

	// The page has another name: what is typed and under way goes with it.
	async moveTo(source) {
		// what was refused may be another name for it
		const { key, freeTab, refusal = "" } = this;
		// a text that was kept there is another one
		if (localStorage.getItem(draftKey(source.ids[0], this.tab))) sessionStorage.setItem(TAB, crypto.randomUUID());
		await this.takeTab(source.ids[0]);
		if (this.isClosed) return this.freeTab();
		this.identify(source);
		this.box.ariaLabel = `Editor of ${this.file}`;
		this.view.dispatch({ effects: this.mode.reconfigure(this.syntax.mode()) });
		const isKept = this.keep();
		localStorage.removeItem(key);
		freeTab();
		this.known = this.shown = "";
		// a storage that is nearly full has room for one of both
		if (isKept || this.keep()) this.say(`${refusal}The page has another name: ${this.file}.`, Boolean(refusal));
		this.refusal = refusal;
	}

	// A box ticked in the page is ticked in the text.
	async tick(number, is_done) {
		await this.alone(async () => {
			const asked = this.text_;
			const { text } = await this.ask("tick", { number, is_done, text: asked });
			if (this.isClosed) return;
			// the box may be another one there
			if (this.text_ !== asked) throw { message: "the text was changed in the meantime", hint: "tick it again" };
			const { base } = this;
			this.take(text, true);
			this.base = base;
			this.changed();
		});
	}

	// Saving -----------------------------------------------------------------------

	// Whether it was refused.
	async save() {
		if (this.isSaving) return void (this.isAsked = true);
		if (!this.isDirty) return;
		this.isSaving = true;
		this.isAsked = false;
		let isRefused = false;
		const text = this.text_;
		this.say("Saving");
		try {
			const written = await this.ask("save", { text, base: this.base });
			if (this.isClosed) return this.forgetSaved(written, text);
			isRefused = await this.wrote(written, text);
		} catch (refusal) {
			isRefused = true;
			const rest = this.keep() ? "" : ". This browser has no room for the text either: copy it before you leave the page";
			this.say(`Not saved: ${refusal.message}${refusal.hint ? `; ${refusal.hint}` : ""}${rest}`, true);
		}
		this.isSaving = false;
		if (!isRefused) this.keep();
		this.saveButton.disabled = !this.isDirty;
		this.view.focus();
		// it was saved again, with what was typed or not, before the answer came
		if (this.isAsked && (isRefused || this.base === text)) isRefused = await this.save();
		// why it was refused stays to be read, and the next save looks
		if (this.isBehind && !isRefused && !this.isClosed) {
			this.isBehind = false;
			await this.look();
		}
		return isRefused;
	}

	// Whether what was asked then was refused, and that told.
	async wrote(written, text) {
		if (written.outcome === "gone") return this.gone(text);
		if (written.outcome === "clash") {
			this.isSaving = false;
			// more was typed meanwhile: the question is about that text
			return this.text_ === text ? this.settle(written.parts, written.text) : this.save();
		}
		if (written.outcome === "merged" && this.text_ === text) {
			const lines = this.take(written.text);
			this.say(`Saved, merged with another change of the file: ${lines}.`);
		} else if (written.outcome === "merged") {
			// more was typed meanwhile: the next save merges it, from what was sent
			this.base = text;
			return this.say("Saved, merged with another change of the file; save again for what you typed meanwhile.");
		} else {
			this.base = text;
			this.say("Saved.");
		}
	}

	async gone(text) {
		const answer = await this.dialog("The file of this page is gone", [], { again: "Write it again", keep: "Keep the text in this browser" });
		if (answer?.did !== "again") return this.say("Not saved: the file is gone; your text is kept in this browser.", true);
		// it may be back by now, also under another name
		const written = await this.ask("save", { text, base: this.base });
		if (written.outcome !== "gone") return this.wrote(written, text);
		await this.ask("create", { name: this.file, text });
		this.base = text;
		this.say("Saved as a new file.");
	}

	// Another text in the editor, where only what differs is exchanged; says where.  One
	// who undoes own words takes nobody else's away.  What came since the text from which
	// it was made stays.
	take(text, isOwn = false, made = this.text_) {
		const state = EditorState.create({ doc: made, extensions: EditorState.lineSeparator.of("\n") });
		const changes = state.changes(differences(made, text)).map(state.changes(differences(made, this.text_)));
		this.base = text;
		this.isTwoWay ||= LEFTWARD.test(text);
		this.view.dispatch({ changes, annotations: addToHistory.of(isOwn) });
		let [first, last] = [this.view.state.doc.length, 0];
		changes.iterChangedRanges((_from, _to, start, end) => ([first, last] = [Math.min(first, start), end]));
		const line = (at) => this.view.state.doc.lineAt(at).number;
		const [from, to] = [line(Math.min(first, last)), line(last)];
		return from === to ? `line ${from}` : `lines ${from} to ${to}`;
	}

	async settle(parts, fileText) {
		const mine = this.text_;
		const text = await this.settled(parts, "mine", "in the file");
		if (text === null) return this.say("Not saved: both texts are kept. Save asks again.", true);
		this.take(text, true, mine);
		this.base = fileText;
		// until the file holds it, it can be saved
		this.changed();
		if (this.isDirty) return this.save();
		this.say("The file's text is here; there is nothing to save.");
	}

	// Texts that no file holds ---------------------------------------------------------

	// A tab holds a lock for as long as it lives, so that its draft is its own.
	async takeTab(id) {
		let tab = sessionStorage.getItem(TAB) || crypto.randomUUID();
		// a duplicated tab has the name of the other one
		while (kept(draftKey(id, tab))?.isForeign || !(await this.lockTab(draftKey(id, tab)))) tab = crypto.randomUUID();
		sessionStorage.setItem(TAB, (this.tab = tab));
		this.key = draftKey(id, tab);
	}

	lockTab(key) {
		return new Promise((done, failed) => {
			const signal = AbortSignal.timeout(lockMs);
			lockMs = LOCK_MS;
			navigator.locks.request(key, { signal }, (lock) => {
				done(lock);
				return new Promise((free) => (this.freeTab = free));
			}).catch((refusal) => (signal.aborted ? done(null) : failed(refusal)));
		});
	}

	// Whether the browser has what no file holds.
	keep() {
		clearTimeout(this.keeping);
		this.keeping = null;
		// until then the draft is an earlier text
		if (this.isClosed || !this.hasTakenDraft) return true;
		try {
			if (this.isDirty) localStorage.setItem(this.key, JSON.stringify({ text: this.text_, base: this.base, at: Date.now(), file: this.file, wiki: this.wiki, title: this.title, page: this.own.at }));
			else this.forget();
			return true;
		} catch {
			this.say("This browser has no room to keep the text: save it.", true);
			return false;
		}
	}

	forget() {
		localStorage.removeItem(this.key);
	}

	// The answer came after the editor was closed; another one may keep its own text.
	forgetSaved({ outcome }, text) {
		if ((outcome === "saved" || outcome === "merged") && kept(this.key)?.text === text) this.forget();
	}

	// What this tab has kept for the file comes back; what a tab that is closed has, or
	// that the file had under another name, is offered.
	async takeDraft(chosen) {
		// the own first: it is taken before another would be kept in its place
		const first = chosen || this.key;
		for (const [key, draft] of [[first, kept(first)], ...(await closedDrafts())]) {
			if (!draft || !(key === chosen || (await this.isOf(key, draft)))) continue;
			const { text: mine, base = this.base } = draft;
			// it may have been saved by a tab that did not live to hear of it
			const { outcome, text } = await this.ask("save", { text: mine, base, is_dry: true }).catch(() => ({}));
			if (mine === this.base || ((outcome === "saved" || outcome === "merged") && text === this.base)) {
				dropDraft(key, draft);
				continue;
			}
			const isAsked = key !== this.key && key !== chosen;
			const answer = isAsked ? await this.dialog(`A ${named(draft)} is not in the file`, [this.make("pre", { tabIndex: 0, textContent: mine.slice(0, 2000) })], { take: "Take it", drop: "Drop it", later: "Not now" }) : { did: "take" };
			if (answer?.did === "drop") dropDraft(key, draft);
			if (answer?.did !== "take") continue;
			const isNewer = base !== this.base;
			this.take(mine);
			this.base = base;
			this.changed();
			this.hasTakenDraft = true;
			if (this.keep() && key !== this.key) dropDraft(key, draft);
			this.say(`This is the ${named(draft)}, which is not saved yet.${isNewer ? " The file was changed since; Save merges both." : ""}`);
			break;
		}
	}

	// A file that was renamed while no preview ran is known by its text.
	async isOf(key, draft) {
		if (this.ids.some((id) => key.startsWith(draftKey(id)))) return true;
		if (!draft.base || draft.base !== this.base || draft.wiki !== this.wiki) return false;
		const source = await this.sourceOf(draft);
		return Boolean(source) && !hasPage(key, source);
	}

	// What the toolbar does ------------------------------------------------------------

	wrap(open, end) {
		this.view.dispatch(this.view.state.changeByRange((range) => ({
			changes: [{ from: range.from, insert: open }, { from: range.to, insert: end }],
			range: EditorSelection.range(range.from + open.length, range.to + open.length),
		})), { userEvent: "input", scrollIntoView: true });
		this.view.focus();
		return true;
	}

	link() {
		const { state } = this.view;
		const { from, to } = state.selection.main;
		const chosen = state.sliceDoc(from, to);
		const isUrl = /^\w+:\/\/\S+$/.test(chosen);
		const text = this.syntax.link(isUrl ? "\0" : chosen || "\0", isUrl ? chosen : chosen ? "\0" : "");
		const at = text.indexOf("\0");
		this.view.dispatch({ changes: { from, to, insert: text.replace("\0", "") }, selection: { anchor: from + at }, scrollIntoView: true, userEvent: "input" });
		this.view.focus();
		return true;
	}

	prefix(mark) {
		const { state } = this.view;
		const { from, to } = state.selection.main;
		const [first, last] = [state.doc.lineAt(from).number, state.doc.lineAt(to).number];
		const changes = [];
		for (let number = first; number <= last; number++) changes.push({ from: state.doc.line(number).from, insert: mark });
		this.view.dispatch({ changes, selection: { anchor: to + mark.length * changes.length }, userEvent: "input" });
		this.view.focus();
	}

	addFiles(files, event) {
		const pasted = event?.clipboardData;
		const text = pasted?.getData("text/plain").trim();
		// office programs add a picture of the text that is copied
		if (!files?.length || (text && pasted.types.includes("text/html"))) return false;
		// programs for files give their names and paths beside them
		const isNames = !text || text.split("\n").every((line) => [...files].some(({ name }) => [name, encodeURIComponent(name)].some((one) => line.trim().endsWith(one))));
		this.addEach([...files], isNames ? "" : "\n");
		// the text goes in first
		if (!isNames) return false;
		event?.preventDefault();
		const at = event?.type === "drop" ? this.view.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
		if (at !== null) this.view.dispatch({ selection: { anchor: at } });
		return true;
	}

	async addEach(files, before) {
		const refused = [];
		for (const file of files) {
			if (file.size > this.bytes_max) {
				refused.push(`${file.name} has more than ${this.bytes_max >> 20} MiB, and was not added.`);
				continue;
			}
			this.say(`Adding ${file.name}`);
			try {
				const url = await new Promise((done, failed) => {
					const reader = new FileReader();
					reader.onload = () => done(reader.result);
					reader.onerror = () => failed({ message: "it cannot be read; of a folder, add the files" });
					reader.readAsDataURL(file);
				});
				const kept = await this.ask("file", { name: file.name || "picture.png", content: url.slice(url.indexOf(",") + 1) });
				const name = file.name.replace(/(?<=.)\.\w+$/, "").replace(/[[\]]/g, "");
				const text = file.type.startsWith("image/") ? this.syntax.picture(kept.path, name) : this.syntax.link(name, kept.path);
				this.view.dispatch(this.view.state.replaceSelection(before + text), { scrollIntoView: true, userEvent: "input.paste" });
				before = "";
				this.say(`${file.name} is in ${kept.path}.`);
			} catch (refusal) {
				refused.push(`${file.name} was not added: ${refusal.message}.`);
			}
		}
		if (refused.length) this.say(refused.join(" "), true);
		this.picker.value = "";
		this.view.focus();
	}

	// Names for links: pages by slug and title, files, and the headings of this page.
	async complete(context) {
		const { opens } = this.syntax;
		const line = context.state.doc.lineAt(context.pos);
		const before = line.text.slice(0, context.pos - line.from);
		const found = opens.exec(before);
		const name = !found && /(?:^|[\s(])(:[\w+-]{2,})$/.exec(before);
		if (!found && !name) return null;
		// asked for each time, as pages and files come and go
		const { pages, files, emoji } = await this.ask("names").catch(() => ({ pages: [], files: [], emoji: {} }));
		if (name) {
			const options = Object.entries(emoji).map(([label, sign]) => ({ label: `:${label}:`, detail: sign }));
			return { from: context.pos - name[1].length, validFor: /^:[\w+-]*:?$/, options };
		}
		const from = context.pos - found[1].length;
		const other = found[1].slice(0, found[1].indexOf("#"));
		if (found[1].indexOf("#") > 0) {
			const { headings: there } = await this.ask("names", { href: other }).catch(() => ({ headings: [] }));
			return { from, validFor: /^[^\s\])]*$/, options: there.map(([id, text]) => ({ label: `${other}#${id}`, detail: text })) };
		}
		return {
			from,
			// behind the name of a page stand its headings
			validFor: /^(?:#[^\s\])]*|[^\s\])#]*)$/,
			options: [
				...pages.map(([slug, title]) => ({ label: slug, detail: title === slug ? "" : title })),
				...files.map((path) => ({ label: path, boost: -1 })),
				...headings().map((one) => ({ label: `#${one.id}`, detail: one.textContent.trim(), boost: -2 })),
			],
		};
	}

	// Pages that come, go and get other names --------------------------------------------

	goTo(address) {
		this.close(true);
		sessionStorage.setItem(OPEN, address);
		location.assign(href(address));
	}

	// What a new page may begin with, if there is a choice.
	beginnings(templates, drafts = new Map()) {
		const { make } = this;
		const options = [...[...drafts].map(([key, draft]) => [key, `the ${named(draft)}`]), ["", "an empty page"], ...templates.map((one) => [one, one])];
		return options.length > 1 ? [make("label", {}, "Begin with", make("select", { name: "template" }, ...options.map(([value, textContent]) => make("option", { value, textContent }))))] : [];
	}

	async begin(source, href = "") {
		const { make } = this;
		const drafts = new Map((await closedDrafts()).filter(([, { page, wiki }]) => page === source.address && wiki === source.wiki));
		const buttons = source.is_trashed ? { create: "Create", restore: "Restore the deleted page" } : { create: "Create" };
		const answer = await this.dialog(`Create ${source.new}`, [make("p", { className: "soft", textContent: "There is no such page yet." }), ...this.beginnings(source.templates, drafts)], buttons);
		if (!answer) return;
		const { template = "" } = answer;
		const draft = answer.did === "create" && drafts.get(template);
		const wish = draft ? { name: draft.file, text: draft.text } : { href, template };
		const made = answer.did === "restore" ? await this.ask("restore") : await this.ask("create", wish);
		if (draft) dropDraft(template, draft);
		this.goTo(made.address);
	}

	async more() {
		const answer = await this.dialog(this.file, [this.make("p", { className: "soft", textContent: "What shall happen with this page?" })], { create: "New page…", rename: "Rename…", earlier: "Earlier texts…", remove: "Delete…", program: "Open in a program" });
		const acts = { create: () => this.newPage(), rename: () => this.rename(), earlier: () => this.earlier(), remove: () => this.remove(), program: () => this.ask("edit") };
		if (!answer) return;
		this.say("");
		await this.alone(() => this.trying(acts[answer.did]));
	}

	async newPage() {
		const folder = this.slug.slice(0, this.slug.lastIndexOf("/") + 1);
		const name = this.field("Name, with the folder", { name: "name", value: folder, required: true });
		// the day in local time, for those who write a page a day
		name.append(this.make("datalist", { id: "days" }, this.make("option", { value: folder + new Date().toLocaleDateString("sv") })));
		name.querySelector("input").setAttribute("list", "days");
		// templates come and go, too
		const { templates } = await this.ask("source").catch(() => this);
		const answer = await this.dialog("New page", [name, ...this.beginnings(templates)], { create: "Create" });
		if (!answer?.name) return;
		const made = await this.ask("create", { name: answer.name, template: answer.template });
		if (!this.keep()) return;
		this.goTo(made.address);
	}

	async rename() {
		if (this.isDirty) await this.save();
		if (this.isDirty) return;
		const answer = await this.dialog("Rename the page", [this.field("New name, with the folder", { name: "name", value: this.slug, required: true })], { next: "Next" });
		if (!answer?.name || answer.name === this.slug) return;
		const plan = await this.ask("rename", { name: answer.name, is_dry: true });
		const count = Object.values(plan.links).reduce((sum, one) => sum + one, 0);
		const lines = [...plan.files.map(([from, to]) => `${from} → ${to}`), ...Object.entries(plan.links).map(([path, links]) => `${path}: ${links} ${links === 1 ? "link" : "links"}`), ...plan.left.map((path) => `${path}: a link that you have to change yourself`)];
		const sure = await this.dialog(`Rename it, and ${count} ${count === 1 ? "link" : "links"} to it?`, [this.make("pre", { tabIndex: 0, textContent: lines.join("\n") })], { rename: "Rename" });
		if (!sure) return;
		await this.ask("rename", { name: answer.name });
		await this.look();
	}

	async remove() {
		if (this.isDirty) await this.save();
		if (this.isDirty) return;
		const answer = await this.dialog(`Delete ${this.file}?`, [this.make("p", { textContent: "It goes to the trash, from where it can be restored." })], { remove: "Delete" });
		if (!answer) return;
		await this.ask("delete", { text: this.base });
		this.forget();
		this.close(true);
		location.reload();
	}
}

// What decorates a line: the bundle gives it in no other way.
function decorationClass() {
	// outside the document, into which no style may be written
	const root = document.createElement("div").attachShadow({ mode: "open" });
	const view = new EditorView({ root, extensions: highlightActiveLine() });
	const [given] = view.state.facet(EditorView.decorations);
	const { constructor } = given(view).iter().value;
	view.destroy();
	return Object.getPrototypeOf(constructor);
}

// What makes one text another: between lines that both have once, as far as it differs.
function differences(old, text) {
	const [was, are] = [old, text].map((one) => one.split(/(?<=\n)/));
	const [there, here] = [was, are].map((lines) => {
		const once = new Map();
		lines.forEach((line, index) => once.set(line, once.has(line) ? -1 : index));
		return once;
	});
	const changes = [];
	let [from, at, to] = [0, 0, 0];
	const add = (gone, come) => {
		let same = 0;
		while (same < gone.length && same < come.length && gone[same] === come[same]) same++;
		let end = 0;
		while (end < gone.length - same && end < come.length - same && gone.at(-1 - end) === come.at(-1 - end)) end++;
		if (gone !== come) changes.push({ from: from + same, to: from + gone.length - end, insert: come.slice(same, come.length - end) });
		from += gone.length;
	};
	was.forEach((line, index) => {
		const other = there.get(line) < 0 ? undefined : here.get(line);
		if (!(other >= to)) return;
		add(was.slice(at, index).join(""), are.slice(to, other).join(""));
		from += line.length;
		[at, to] = [index + 1, other + 1];
	});
	add(was.slice(at).join(""), are.slice(to).join(""));
	return changes;
}

// Chromium takes quadratic time to lay out a text of which each line may have a direction
// of its own, as the themes have it; a very long one has the direction of its beginning.
function eased(place) {
	for (const one of place.querySelectorAll("p, td, th")) {
		if (one.textContent.length < BIG) continue;
		one.dir ||= "auto";
		one.style.unicodeBidi = "isolate";
	}
	return place;
}

// A title that no line of the text makes has no id.
const headings = () => [...document.querySelectorAll("main article :is(h1, h2, h3, h4, h5, h6)[id]")];

const ITEM = /^(\s*)(?:([-+]|[*.]+)|(\d+)([.)]))(\s+)(\[[ xX]\]\s+)?/;

// Enter in a list goes on with it; in an empty item it ends the list.
function continueList(view, { isHeading }) {
	const { state } = view;
	const { main } = state.selection;
	const line = state.doc.lineAt(main.head);
	// in Org a heading looks like an item
	const found = !isHeading.test(line.text) && ITEM.exec(line.text);
	if (!main.empty || !found || main.head < line.from + found[0].length) return false;
	if (line.length === found[0].length) {
		view.dispatch({ changes: { from: line.from, to: line.to }, userEvent: "delete" });
		return true;
	}
	const [, indent, mark, number, end, space, task] = found;
	const next = `\n${indent}${mark || Number(number) + 1 + end}${space}${task ? "[ ] " : ""}`;
	view.dispatch(state.replaceSelection(next), { scrollIntoView: true, userEvent: "input" });
	return true;
}

// Tab moves items of a list in and out, and goes from cell to cell; elsewhere it leaves.
function tab(view, { isHeading }, isForward) {
	const { state } = view;
	const { main } = state.selection;
	const line = state.doc.lineAt(main.head);
	if (ITEM.test(line.text) && !isHeading.test(line.text)) return (isForward ? indentMore : indentLess)(view);
	if (!line.text.trimStart().startsWith("|")) return false;
	const at = main.head - line.from;
	const cell = isForward ? line.text.indexOf("|", at) : line.text.lastIndexOf("|", Math.max(0, line.text.lastIndexOf("|", at - 1) - 1));
	if (cell < 0 || (isForward && cell >= line.text.trimEnd().length - 1)) return false;
	view.dispatch({ selection: { anchor: Math.min(line.to, line.from + cell + 2) }, scrollIntoView: true });
	return true;
}
