// The browser's half of `wikisync preview`: it says beside a page how that stands.  What
// is done when the page looks different (another key), has a problem or a person wants
// something of it is in live.js, which is loaded then.
(() => {
	const own = document.currentScript.dataset;
	const MISSING = "missing";
	const KEPT = "wikisync-preview-place";
	const RETRY_MS = [200, 500, 1000, 2000, 5000];
	const SILENCE_MS = 9000;
	const WORDS = { synced: "in sync", same: "as last synced", changed: "changed here", waiting: "on its way", held: "held", conflict: "in conflict" };
	let tries = 0;

	const all = (css, of = document) => [...of.querySelectorAll(css)];
	const make = (name, props = {}, ...inside) => {
		const element = Object.assign(document.createElement(name), props);
		element.append(...inside);
		return element;
	};
	const sheet = (css) => {
		const style = new CSSStyleSheet();
		style.replaceSync(css);
		return style;
	};

	// Where the reader was before the page was loaded again ---------------------------

	const places = {
		foldable: () => all("main details, nav details"),
		typed: () => all("input:not([type=checkbox], [type=radio]), textarea"),
		scrolled: () => all("nav, nav *, aside, aside *"),
	};

	function takePlace() {
		try {
			const place = JSON.parse(sessionStorage.getItem(KEPT));
			if (own.key === MISSING || !place) return;
			sessionStorage.removeItem(KEPT);
			if (place.at !== location.pathname) return;
			goTo(place);
			const fields = places.typed();
			place.typed.forEach((value, index) => fields[index] && value && Object.assign(fields[index], { value }).dispatchEvent(new Event("input", { bubbles: true })));
			fields[place.focus]?.focus({ preventScroll: true });
		} catch {
			// Storage is switched off: the browser keeps the place as well as it can.
		}
	}

	function goTo(place) {
		const blocks = places.foldable();
		if (blocks.length === place.open.length) blocks.forEach((one, index) => (one.open = place.open[index]));
		const elements = places.scrolled();
		for (const [index, top] of place.inside) if (elements[index]) elements[index].scrollTop = top;
		const anchor = place.id && place.id !== "siteContent" && all("main [id]").find((one) => one.id === place.id);
		const y = anchor ? scrollY + anchor.getBoundingClientRect().top - place.below : place.y;
		scrollTo({ left: 0, top: y, behavior: "instant" });
	}

	// The bar, out of reach of the theme's style ----------------------------------------

	const host = make("wikisync-preview");
	const root = host.attachShadow({ mode: "open" });
	root.adoptedStyleSheets = [sheet(`
		:host { all: initial; font: 0.875rem/1.45 system-ui, sans-serif; color-scheme: light dark; }
		.dock { position: fixed; z-index: 2147483647; inset: auto 12px 12px; display: flex; flex-direction: column; align-items: flex-end; gap: 8px; pointer-events: none; }
		.bar, .panel { pointer-events: auto; box-sizing: border-box; background: #fff; color: #1b1b1f; border: 1px solid #73737d; box-shadow: 0 2px 12px #0004; }
		.bar { max-width: 100%; display: flex; gap: 10px; align-items: center; padding: 5px 12px; border-radius: 18px; }
		button { font: inherit; color: inherit; background: #eeeef2; border: 1px solid #73737d; border-radius: 5px; padding: 2px 10px; cursor: pointer; }
		button.word { background: none; border: none; padding: 0; text-decoration: underline dotted; }
		.word, .line { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .bar > * { flex: none; } .bar > .word, .bar > .line { flex: 0 1 auto; } .line:not(:empty) { border-left: 1px solid #73737d; padding-left: 10px; }
		.dot { width: 10px; height: 10px; border-radius: 50%; background: #73737d; }
		.dot.synced { background: #1a7f37; } .dot.waiting, .dot.changed { background: #8a5a00; } .dot:is(.held, .away, .conflict) { background: #c1121f; }
		@media (max-width: 30rem) { .line { display: none; } }
		[hidden] { display: none !important; }
		@media (prefers-color-scheme: dark) {
			.bar, .panel { background: #1d1d22; color: #ececf1; }
			button { background: #33333b; }
		}
		@media print { :host { display: none; } }
	`)];
	// what is typed here is no shortcut of the page, such as / for the search
	host.addEventListener("keydown", (event) => event.key.length === 1 && !event.ctrlKey && !event.metaKey && event.stopPropagation());
	const button = (textContent, title, act, props) => make("button", { type: "button", textContent, title, onclick: () => more(act), ...props });
	const dot = make("span", { className: "dot" });
	const word = button("", "What waits in the wiki", (live) => live.view((desk) => desk.state()), { className: "word" });
	const line = make("span", { className: "line" });
	const settle = button("Settle", "Settle the conflict of this page", (live) => live.view((desk) => desk.conflict()), { hidden: true });
	const edit = button("Edit", "", (live) => live.write(), { hidden: true });
	const dock = make("div", { className: "dock" }, make("div", { className: "bar", role: "status", ariaAtomic: "false" }, dot, word, line, settle, edit));
	root.append(dock);

	function say(text, state = "") {
		dot.className = `dot ${state}`;
		word.textContent = text;
		line.textContent = "";
	}

	function showState(news) {
		const state = news.is_conflict ? "conflict" : news.state;
		say([WORDS[state], news.note].filter(Boolean).join(": ") || "live", state);
		if (news.wait) say(news.wait);
		else if (news.wiki && !word.textContent.endsWith(news.wiki)) line.textContent = `wiki: ${news.wiki}`;
		settle.hidden = !own.write || page.writer || !news.is_conflict;
		edit.hidden = !own.write || page.writer || !(news.file || news.key === MISSING);
		edit.title = news.file;
		edit.textContent = news.file ? "Edit" : "Create";
	}

	// A box of a task and a link to no page can be used where the page can be written.
	const BOXES = "main article input.task-list-item-checkbox";
	const RED = "main a.broken-link:not([href])";

	function free() {
		if (!own.write) return;
		for (const box of all(BOXES)) box.disabled = false;
		for (const link of all(RED)) Object.assign(link, { tabIndex: 0, role: "button" });
	}

	addEventListener("change", ({ target }) => {
		if (!own.write || !target.matches?.(BOXES)) return;
		const [{ checked }, number] = [target, all(BOXES).indexOf(target)];
		target.checked = !checked;
		more((live) => live.tick(number, checked));
	});
	addEventListener("click", ({ target }) => {
		const link = own.write && target.closest?.(RED);
		if (link) more((live) => live.write({ href: link.title.slice(0, link.title.lastIndexOf(": ")) }));
	});
	addEventListener("keydown", ({ key, target }) => key === "Enter" && target.matches?.(RED) && target.click());

	// What the server says -------------------------------------------------------------

	// `live` is whether the scripts of the page say that they work on another text, too.
	const page = { KEPT, MISSING, WORDS, own, all, make, sheet, places, goTo, host, root, dock, word, line, edit, free, connect, leave() {}, again() {}, isLive: false, last: { file: "" }, writer: null, leftAt: -Infinity };
	addEventListener("beforeunload", () => (page.leftAt = performance.now()));
	// as the server gave them: scripts of the theme that work on them come later
	page.parts = (of) => all("main, nav", of).filter((one) => !one.parentElement.closest("main, nav"));
	page.sourcesOf = (of) => page.parts(of).map((one) => one.innerHTML);
	page.sources = page.sourcesOf(document);
	let live = null;

	function more(act) {
		live ??= import(own.live).then(({ begin }) => begin(page));
		live.then(act, () => {
			live = null;
			// what was to be done is said again, and tried again
			page.again();
			// another version of the program answers
			if (page.last.run !== own.run && page.last.run) location.reload();
			else say("the preview does not answer: start it again", "away");
		});
	}

	function hear(news) {
		tries = 0;
		page.last = news;
		const isOther = news.run !== own.run || (news.key && (news.key !== own.key || news.frame !== own.frame));
		if (live || isOther || news.problems.length || Object.keys(news.marks).length) more((live) => {
			live.hear(news);
			showState(news);
		});
		else showState(news);
	}

	// The server says the same again where nothing is new: what is silent does not run.
	function connect() {
		const socket = new WebSocket(`ws://${location.host}/-/preview/events?at=${encodeURIComponent(own.at)}`);
		let heard = "", silence = 0, retry = 0;
		const wait = () => {
			const since = new Date().toLocaleTimeString();
			clearTimeout(silence);
			silence = setTimeout(() => {
				heard = "";
				say(`no answer since ${since}`, "away");
			}, SILENCE_MS);
		};
		wait();
		socket.onmessage = (event) => {
			wait();
			if (event.data && event.data !== heard) hear(JSON.parse((heard = event.data)));
		};
		socket.onclose = () => {
			clearTimeout(silence);
			say("the preview has ended: start it again");
			// nothing can be written until it runs
			edit.hidden = settle.hidden = true;
			retry = setTimeout(connect, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
		};
		page.again = () => (heard = "");
		page.leave = () => {
			clearTimeout(silence);
			clearTimeout(retry);
			socket.onmessage = socket.onclose = null;
			socket.close();
		};
	}

	const begin = () => {
		page.isLive = [...document.scripts].every((one) => !one.src || "live" in one.dataset || one.dataset.run);
		document.body.append(host);
		takePlace();
		free();
		connect();
		if (sessionStorage.getItem("wikisync-writing") === own.at && own.write) more((live) => live.write());
	};
	if (document.body && document.readyState !== "loading") begin();
	else addEventListener("DOMContentLoaded", begin);
})();
