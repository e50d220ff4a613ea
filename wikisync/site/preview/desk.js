// What a person asks and decides beside the text of a page: what waits in the wiki, the
// two texts of a conflict, the texts that a page had.  It is loaded when somebody opens
// one of them, and by the editor.  What the server is asked for is in routes.py.
const SHEET = `
	dialog { --page: #fff; --ink: #1b1b1f; --line: #73737d; --button: #eeeef2; --soft: #55555e; --link: #0b57b0; --own: #e6f4ea; --other: #fdecea; --mark: #a9dcb8; --gone: #f6b9b4; background: var(--page); color: var(--ink); border: 1px solid var(--line); border-radius: 8px; padding: 16px 20px; max-width: min(92vw, 1000px); max-height: 88vh; overflow: auto; box-sizing: border-box; }
	dialog.dark { --page: #1d1d22; --ink: #ececf1; --line: #8a8a95; --button: #33333b; --soft: #b5b5c0; --link: #8ab8ff; --own: #17351f; --other: #43201d; --mark: #1f6b38; --gone: #8a2f2a; color-scheme: dark; }
	dialog.wide { width: min(92vw, 1000px); }
	dialog::backdrop { background: #0006; }
	dialog label { display: block; margin: 8px 0 2px; }
	dialog input[type=text], dialog select, dialog textarea { font: inherit; width: 100%; box-sizing: border-box; padding: 5px 8px; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: 5px; }
	dialog textarea { font: 0.8125rem/1.4 ui-monospace, monospace; min-height: 5em; }
	dialog pre { margin: 0; padding: 8px; white-space: pre-wrap; overflow-wrap: anywhere; font: 0.8125rem/1.4 ui-monospace, monospace; border-radius: 5px; }
	dialog a { color: var(--link); } dialog li { margin: 10px 0; overflow-wrap: anywhere; } dialog ul { padding-left: 18px; }
	dialog summary { cursor: pointer; overflow-wrap: anywhere; }
	fieldset { border: 1px solid var(--line); border-radius: 6px; margin: 10px 0; min-width: 0; }
	.two { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; }
	.mine pre { background: var(--own); } .other pre { background: var(--other); }
	.mine mark { background: var(--mark); color: inherit; } .other mark { background: var(--gone); color: inherit; }
	.diff { white-space: pre-wrap; overflow-wrap: anywhere; font: 0.8125rem/1.4 ui-monospace, monospace; border-left: 3px solid var(--line); padding: 4px 10px; margin: 8px 0; }
	.diff ins { background: var(--own); } .diff del { background: var(--other); }
	.row { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; margin-top: 12px; }
	h2 { font-size: 1rem; margin: 0 0 8px; } p { margin: 6px 0; } .soft { color: var(--soft); }
	dialog button { font: inherit; color: inherit; background: var(--button); border: 1px solid var(--line); border-radius: 5px; padding: 3px 7px; min-height: 28px; min-width: 28px; cursor: pointer; }
	dialog :is(button, input, select, textarea, summary, pre, a):focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
	dialog button[disabled] { opacity: 1; color: var(--soft); cursor: default; }
	dialog .main-button { background: #0b57b0; color: #fff; border-color: #0b57b0; }
	dialog .main-button[disabled] { background: var(--button); color: var(--soft); border-color: var(--line); }
	@media (max-width: 50rem) { .two { grid-template-columns: 1fr; } dialog, dialog.wide { width: 96vw; max-width: 96vw; padding: 12px; } }
`;

export class Desk {
	constructor(page) {
		this.page = page;
		this.own = page.own;
		this.make = page.make;
		this.dark = isDark(getComputedStyle(document.body).backgroundColor);
		this.addSheet(SHEET);
	}

	addSheet(text) {
		const { root } = this.page;
		if ([...root.adoptedStyleSheets].some((one) => one.of === text)) return;
		const sheet = Object.assign(new CSSStyleSheet(), { of: text });
		sheet.replaceSync(text);
		root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
	}

	// What the server is asked --------------------------------------------------------

	async ask(action, wish = {}) {
		const send = () => fetch(`/-/preview/${action}`, {
			method: "POST",
			headers: { "Content-Type": "application/json", "X-Wikisync-Token": this.own.token },
			body: JSON.stringify({ at: this.own.at, ...wish }),
		}).catch(() => null);
		const { run } = this.own;
		let answer = await send();
		// the preview was started again: its page has the secret of that run
		if (answer?.status === 403 && (await this.renewRun(run))) answer = await send();
		if (!answer) throw { where: "", isLost: true, message: "the preview does not answer", hint: "your text is kept in this browser; start the preview again" };
		if (answer.status === 204) return null;
		const said = await answer.json().catch(() => ({ message: `answer ${answer.status}` }));
		if (!answer.ok) throw { where: "", hint: "", ...said };
		return said;
	}

	// Whether another run than this one answers now, which may be known already.
	async renewRun(run) {
		if (this.own.run !== run) return true;
		const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
		const other = answer && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("script[data-run]");
		if (other) Object.assign(this.own, { run: other.dataset.run, token: other.dataset.token, key: other.dataset.key, frame: other.dataset.frame });
		return this.own.run !== run;
	}

	say(message, isBad = false) {
		this.page.showProblems(isBad ? "This was not done" : "Done", [{ where: "", message, hint: "" }], !isBad);
	}

	// Do something; what the server refuses is said.
	async trying(act) {
		try {
			await act();
		} catch (refusal) {
			if (!refusal.message) throw refusal;
			this.say(`${refusal.message}${refusal.hint ? `; ${refusal.hint}` : ""}`, true);
		}
	}

	// A question in front of everything; gives which button, and what was typed.
	dialog(title, inside, buttons, ready = () => {}, isWide = false) {
		const { make } = this;
		return new Promise((done) => {
			let did = null;
			const made = Object.entries(buttons).map(([name, text], index) => make("button", { type: "submit", textContent: text, className: index ? "" : "main-button", onclick: () => (did = name) }));
			const out = make("button", { type: "button", textContent: made.length ? "Cancel" : "Close", onclick: () => box.close() });
			const form = make("form", { method: "dialog" }, make("h2", { textContent: title }), ...inside, make("div", { className: "row" }, ...made, out));
			const box = make("dialog", { className: `${this.dark ? "dark" : ""}${isWide ? " wide" : ""}`, ariaLabel: title }, form);
			// Escape takes away only what a click brings back; a browser lets closing be
			// cancelled only so often, and the key always
			const hold = (event) => form.querySelector("[data-typed]") && event.preventDefault();
			box.addEventListener("cancel", hold);
			box.addEventListener("keydown", (event) => event.key === "Escape" && hold(event));
			box.onclose = () => {
				box.remove();
				const picked = box.picked || (did && { did });
				done(picked ? { ...picked, ...Object.fromEntries(new FormData(form)) } : null);
			};
			this.page.root.append(box);
			box.showModal();
			ready(made);
		});
	}

	// A button in a dialog that ends it with this answer.
	pick(text, answer, props = {}) {
		const onclick = ({ target }) => {
			const box = target.closest("dialog");
			box.picked = answer;
			box.close();
		};
		return this.make("button", { type: "button", textContent: text, onclick, ...props });
	}

	field(label, props) {
		const input = this.make("input", { type: "text", autocomplete: "off", ...props });
		return this.make("label", {}, label, input);
	}

	// What waits in the wiki -----------------------------------------------------------

	async state() {
		const { make } = this;
		const { line, rows } = await this.ask("state");
		const link = (at, text) => make("a", { href: href(at), textContent: text });
		const shown = rows.map(({ sentence, at, is_conflict, batch, pages }) => {
			const acts = [];
			if (at) acts.push(link(at, "Open the page"));
			if (is_conflict && at && this.own.write) acts.push(this.pick("Settle…", { act: () => this.conflict(at) }));
			if (batch && this.own.write) {
				acts.push(this.pick("Approve", { act: () => this.decide(batch, true) }), this.pick("Refuse", { act: () => this.decide(batch, false) }));
			}
			const list = pages.length ? [make("details", {}, make("summary", { textContent: `${pages.length} ${pages.length === 1 ? "page" : "pages"}` }), make("ul", {}, ...pages.map(([slug, where]) => make("li", {}, where ? link(where, slug) : slug))))] : [];
			return make("li", {}, sentence, ...list, make("div", { className: "row" }, ...acts));
		});
		const head = [this.page.line(), line].filter(Boolean).map((text) => make("p", { textContent: text }));
		shown.push(...(await Promise.all((await closedDrafts().catch(() => [])).map((one) => this.keptText(...one)))));
		const body = shown.length ? make("ul", {}, ...shown) : make("p", { className: "soft", textContent: "Nothing waits." });
		const answer = await this.dialog("State of the wiki", [...head, body], this.page.hasFile() ? { earlier: "Earlier texts of this page" } : {}, undefined, true);
		if (answer?.did === "earlier") await this.earlier();
		else await answer?.act?.();
	}

	// What the browser keeps of a tab that is closed.
	async keptText(key, draft) {
		const { make } = this;
		const copy = async ({ target }) => {
			try {
				await navigator.clipboard.writeText(draft.text);
				target.textContent = "Copied";
			} catch {
				target.textContent = "The browser does not let it be copied";
			}
		};
		const again = async () => {
			const { address } = await this.ask("create", { at: draft.page, name: draft.file, text: draft.text });
			dropDraft(key, draft);
			location.assign(href(address));
		};
		const acts = [make("button", { type: "button", textContent: "Copy", onclick: copy })];
		const source = await this.sourceOf(draft);
		const isHere = !draft.wiki || draft.wiki === source?.wiki;
		const whose = isHere || !this.own.write ? "" : ` of another wiki${draft.title ? ` (${draft.title})` : ""}`;
		if (isHere && source?.file) acts.push(make("a", { href: href(draft.page), textContent: "Open the page" }));
		else if (draft.wiki && isHere && source) acts.push(this.pick("Write it again", { act: again }));
		if (isHere && this.page.canWrite()) acts.push(this.pick("Put it into this page", { act: () => this.page.write({ draft: key }) }));
		acts.push(this.pick("Drop it", { act: () => dropDraft(key, draft) }));
		return make("li", {}, make("details", {}, make("summary", { textContent: `A ${named(draft)}${whose} is kept in this browser` }), make("pre", { tabIndex: 0, textContent: draft.text })), make("div", { className: "row" }, ...acts));
	}

	// What is now at the address of a text; the same port may show another wiki.
	async sourceOf({ page }) {
		return page && this.own.write ? this.ask("source", { at: page }).catch(() => null) : null;
	}

	async decide(batch, is_approved) {
		const { said } = await this.ask("decide", { batch, is_approved });
		this.say(said);
	}

	// A task box of the page, ticked in its file ------------------------------------------

	async tick(number, is_done) {
		const { outcome } = await this.ask("tick", { number, is_done });
		if (outcome !== "saved" && outcome !== "merged") throw { message: "the page was changed in the meantime", hint: "tick it again" };
	}

	// The two texts of a conflict --------------------------------------------------------

	async conflict(at = this.own.at) {
		const { make } = this;
		// what a person made of the parts that were shown, and their digest
		let mine = null;
		for (;;) {
			try {
				// also again: the conflict may be another one by now
				const { parts, seen } = await this.ask("clash", { at });
				if (!parts.some(isClash)) return this.without(parts, mine);
				if (seen !== mine?.seen) {
					const text = await this.settled(parts, "here", "on the wiki", mine);
					if (text === null) return this.say("The conflict is kept; nothing was changed.");
					mine = { parts, seen, text };
				}
				const { said } = await this.ask("settle", { at, text: mine.text, seen });
				return this.say(`The conflict is settled; ${said}.`);
			} catch (refusal) {
				const { message, hint, isLost } = refusal;
				if (!mine || !message) throw refusal;
				// it may be settled where only the answer is lost, and no browser keeps this text
				const lines = isLost ? [message, "Your text, to copy:"] : [message, hint, "Nothing was changed. Your text, to copy:"];
				const inside = lines.filter(Boolean).map((textContent) => make("p", { textContent }));
				const answer = await this.dialog(isLost ? "The preview does not answer" : "The conflict is not settled", [...inside, this.toCopy(mine)], { again: "Try again" });
				if (!answer) return this.say(isLost ? "The preview does not answer; it may have settled the conflict." : `The conflict is kept: ${message}.`, true);
			}
		}
	}

	// Nothing is left to settle: by this text, where only the answer was lost, or another.
	async without(parts, mine) {
		const now = parts.map(({ text }) => text).join("");
		if (mine && now === mine.text) return this.say("The conflict is settled.");
		const message = parts.length ? "The conflict was settled already; the next sync applies it." : "This page has no conflict any more.";
		if (!mine) return this.say(message);
		await this.dialog("The conflict was settled by somebody else", [message, "Your text, to copy:"].map((textContent) => this.make("p", { textContent })).concat(this.toCopy(mine)), {});
	}

	toCopy({ text }) {
		const kept = this.make("textarea", { value: text, readOnly: true, ariaLabel: "Your text" });
		kept.dataset.typed = "1";
		return kept;
	}

	// The text that settles a page in parts: mine, the other's and what they become.  What
	// was made of the same parts before stands in them, and all of that text can be copied.
	async settled(parts, mineName, otherName, before = null) {
		const { make } = this;
		const clashes = parts.filter(isClash);
		const whole = (text) => (!text || text.endsWith("\n") ? text : `${text}\n`);
		const ways = { [mineName === "here" || mineName === "mine" ? "Keep mine" : `Keep ${mineName}`]: (part) => part.mine, [otherName === "on the wiki" ? "Take the wiki's" : "Take the file's"]: (part) => part.other, Both: (part) => whole(part.other) + part.mine };
		let button;
		const check = () => button && (button.disabled = !clashes.every((part) => part.result.dataset.done));
		const choose = (chosen, after) => Object.entries(ways).map(([label, way]) => make("button", {
			type: "button", textContent: label + after, onclick: () => {
				for (const part of chosen) Object.assign(part.result, { value: way(part) }).dataset.done = "1";
				check();
			},
		}));
		const pane = (className, label, part, own) => {
			const text = part.words?.length ? part.words.filter(([sign]) => !sign || sign === own).map(([sign, words]) => (sign ? make("mark", { textContent: words }) : words)) : [own === "+" ? part.mine : part.other];
			return make("div", { className }, make("p", { textContent: label }), make("pre", { tabIndex: 0, role: "group", ariaLabel: label }, ...(text.join("") || text.length > 1 ? text : ["(nothing)"])));
		};
		let number = 0;
		const made = (before?.parts ?? []).filter((one) => one.result.dataset.done);
		const fields = parts.map((part) => {
			const place = isClash(part) ? ++number : 0;
			const result = (part.result = make("textarea", { value: part.text ?? "", ariaLabel: place ? `Text for place ${place}` : "Text without a clash" }));
			result.oninput = () => { result.dataset.done = result.dataset.typed = "1"; check(); };
			const same = made.findIndex((one) => one.text === part.text && one.mine === part.mine && one.other === part.other);
			if (same >= 0) Object.assign(result, { value: made.splice(same, 1)[0].result.value }).dataset.done = "1";
			if (!place) {
				const lines = (part.text || "").split("\n").length - 1 || 1;
				return make("details", {}, make("summary", { className: "soft", textContent: `${lines} ${lines === 1 ? "line" : "lines"} without a clash` }), result);
			}
			return make("fieldset", {}, make("legend", { textContent: `Place ${place} of ${clashes.length}` }),
				make("div", { className: "two" }, pane("mine", mineName === "mine" ? "My text" : "Text here", part, "+"), pane("other", `Text ${otherName}`, part, "-")),
				make("div", { className: "row" }, ...choose([part], "")),
				make("label", { textContent: "What the page will say" }), result);
		});
		const everywhere = clashes.length > 1 ? [make("div", { className: "row" }, ...choose(clashes, " everywhere"))] : [];
		const intro = [make("p", { textContent: "Nothing is lost: choose for each place, or write what it will say." })];
		if (before) intro.unshift(make("p", { textContent: "The conflict is another one by now. What you chose stands where both texts are the same as before." }), make("details", {}, make("summary", { textContent: "All of your text, to copy" }), this.toCopy(before)));
		const answer = await this.dialog("Two texts for the same place", [...intro, ...everywhere, ...fields], { settle: "Use these texts" }, (buttons) => { button = buttons[0]; check(); }, true);
		return answer && parts.map((part) => (part.result.dataset.done ? part.result.value : part.text)).join("");
	}

	// The texts that a page had ------------------------------------------------------------

	async earlier(of_wiki = false) {
		const { make } = this;
		const { texts, has_wiki } = await this.ask("earlier", { of_wiki });
		const shown = texts.map(({ id, at, where, html, is_cut }, index) => {
			const difference = make("div");
			difference.innerHTML = html;
			const acts = this.own.write && !(of_wiki && !index) ? [this.pick("Restore this text", { act: () => this.back(id, at) })] : [];
			return make("li", {}, make("details", {}, make("summary", { textContent: [at, where].filter(Boolean).join(": ") }), html ? difference : make("p", { className: "soft", textContent: "No text before it is known." }), is_cut ? make("p", { className: "soft", textContent: "There is more; it is too long to be shown." }) : "", make("div", { className: "row" }, ...acts)));
		});
		const body = shown.length ? make("ul", {}, ...shown) : make("p", { className: "soft", textContent: has_wiki ? "No earlier text is kept here." : "Earlier texts are kept in a workspace only; deleted pages are in the trash." });
		const more = has_wiki && !of_wiki ? { wiki: "History of the wiki" } : {};
		const answer = await this.dialog(of_wiki ? "Revisions of this page on the wiki" : "Earlier texts of this page", [body], more, undefined, true);
		if (answer?.did === "wiki") await this.earlier(true);
		else await answer?.act?.();
	}

	async back(id, at) {
		await this.ask("back", { id });
		this.say(`The page has its text again (${at}); the text before it is kept.`);
	}
}

// Under what a tab keeps its text of a file; all that tabs keep begins so.
export const draftKey = (id = "", tab = "") => `wikisync-draft-${id && `${id}-`}${tab}`;

// Whether the page of a text is still there under the name that it had.
export const hasPage = (key, source) => Boolean(source?.ids?.some((id) => key.startsWith(draftKey(id))));

// What is kept, maybe by another version or program: then it is offered as it is.
export function kept(key) {
	const raw = localStorage.getItem(key);
	if (!raw) return null;
	let draft = null;
	try {
		draft = JSON.parse(raw);
	} catch {
		// it is no draft of ours
	}
	const isOurs = typeof draft?.text === "string" && typeof draft.base === "string" && ["file", "wiki", "page", "title"].every((name) => ["string", "undefined"].includes(typeof draft[name])) && ["number", "undefined"].includes(typeof draft.at);
	return isOurs ? draft : { text: raw, isForeign: true };
}

// Its tab may have been opened again since the text was read, and keep more by now.
export function dropDraft(key, { text }) {
	if (kept(key)?.text === text) localStorage.removeItem(key);
}

// Of tabs that are closed, with the key of each.
export async function closedDrafts() {
	const held = (await navigator.locks.query()).held.map(({ name }) => name);
	const keys = Object.keys(localStorage).filter((key) => key.startsWith(draftKey()) && !held.includes(key));
	return keys.map((key) => [key, kept(key)]).filter(([, draft]) => draft);
}

export const named = ({ file, at }) => ["text", file && `of ${file}`, at && `(${new Date(at).toLocaleString()})`].filter(Boolean).join(" ");

const isClash = (part) => part.mine !== undefined && part.mine !== null;

export const href = (at) => `/${at.split("/").map(encodeURIComponent).join("/")}`;

export function isDark(color) {
	const [red, green, blue] = color.match(/[\d.]+/g).map(Number);
	return red * 0.3 + green * 0.6 + blue * 0.1 < 128;
}
