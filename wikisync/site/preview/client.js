// The browser's half of `wikisync preview`: it holds a page beside what the server
// says of it.  Another key means that the page looks different: its text and navigation
// are replaced, or the page loaded again, and the reader stays.  All else (errors, states,
// conflicts) is shown in a panel.
(() => {
	const own = document.currentScript.dataset;
	const MISSING = "missing";
	const KEPT = "wikisync-preview-place";
	const RETRY_MS = [200, 500, 1000, 2000, 5000];
	const SILENCE_MS = 25000;
	const WORDS = { synced: "in sync", same: "as last synced", changed: "changed here", waiting: "on its way", held: "held", conflict: "in conflict" };
	let tries = 0;
	let renewing = Promise.resolve();
	let isLive = false;
	let dismissed = "";
	let marks = {};

	const make = (name, props = {}, ...inside) => {
		const element = Object.assign(document.createElement(name), props);
		element.append(...inside);
		return element;
	};

	// Where the reader is ----------------------------------------------------------

	const foldable = () => [...document.querySelectorAll("main details, nav details")];
	const typed = () => [...document.querySelectorAll("input:not([type=checkbox], [type=radio]), textarea")];
	const scrolled = () => [...document.querySelectorAll("nav, nav *, aside, aside *")];

	function placeNow() {
		const anchor = [...document.querySelectorAll("main [id]")].findLast((one) => one.getBoundingClientRect().top < 5);
		return {
			at: location.pathname,
			y: scrollY,
			id: anchor?.id,
			below: anchor && anchor.getBoundingClientRect().top,
			inside: scrolled().map((one, index) => [index, one.scrollTop]).filter(([, top]) => top > 0),
			open: foldable().map((one) => one.open),
			typed: typed().map((one) => one.value),
			focus: typed().indexOf(document.activeElement),
		};
	}

	function keepPlace() {
		if (own.key === MISSING) return;
		try {
			sessionStorage.setItem(KEPT, JSON.stringify(placeNow()));
		} catch {
			// Storage is switched off: the browser keeps the place as well as it can.
		}
	}

	function takePlace() {
		if (own.key === MISSING) return;
		try {
			const place = JSON.parse(sessionStorage.getItem(KEPT));
			sessionStorage.removeItem(KEPT);
			if (place?.at !== location.pathname) return;
			goTo(place);
			const fields = typed();
			place.typed.forEach((value, index) => fields[index] && value && Object.assign(fields[index], { value }).dispatchEvent(new Event("input", { bubbles: true })));
			fields[place.focus]?.focus({ preventScroll: true });
		} catch {
			// As above.
		}
	}

	function goTo(place) {
		const blocks = foldable();
		if (blocks.length === place.open.length) blocks.forEach((one, index) => (one.open = place.open[index]));
		const elements = scrolled();
		for (const [index, top] of place.inside) if (elements[index]) elements[index].scrollTop = top;
		const anchor = place.id && place.id !== "siteContent" && [...document.querySelectorAll("main [id]")].find((one) => one.id === place.id);
		const y = anchor ? scrollY + anchor.getBoundingClientRect().top - place.below : place.y;
		scrollTo({ left: 0, top: y, behavior: "instant" });
	}

	function reload() {
		history.scrollRestoration = "manual";
		keepPlace();
		location.reload();
	}

	// Most saves change nothing but the text of the page and the navigation beside it.
	// Then they alone are replaced, unless a script works on them without saying
	// (data-live) that it will again.
	const parts = (page) => [...page.querySelectorAll("main, nav")].filter((one) => !one.parentElement.closest("main, nav"));
	const sourcesOf = (page) => parts(page).map((one) => one.innerHTML);
	// as the server gave them: scripts of the theme that work on them come later
	let sources = sourcesOf(document);

	async function renew() {
		const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
		const other = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
		const script = other && other.querySelector("script[data-frame]");
		if (!script || isElsewhere || answer.redirected || script.dataset.run !== own.run || script.dataset.frame !== own.frame) return reload();
		own.key = script.dataset.key;
		exchange(other);
	}

	// Blocks that are the same stay, and with them what the reader has selected there.
	function patch(old, now) {
		const [was, are] = [[...old.childNodes], [...now.childNodes]];
		let start = 0;
		while (start < Math.min(was.length, are.length) && was[start].isEqualNode(are[start])) start++;
		let end = 0;
		while (end < Math.min(was.length, are.length) - start && was.at(-1 - end).isEqualNode(are.at(-1 - end))) end++;
		const [gone, come] = [was.slice(start, was.length - end), are.slice(start, are.length - end)];
		const [one, other] = [gone[0], come[0]];
		if (gone.length === 1 && come.length === 1 && one.childElementCount && one.cloneNode().isEqualNode(other.cloneNode())) return patch(one, other);
		for (const node of come) old.insertBefore(node, gone[0] ?? was[was.length - end] ?? null);
		for (const node of gone) node.remove();
	}

	function exchange(other, place = placeNow()) {
		const fresh = sourcesOf(other);
		parts(document).forEach((part, index) => {
			if (fresh[index] === sources[index]) return;
			patch(part, parts(other)[index]);
			if (part.matches("main")) dress();
		});
		document.title = other.title;
		sources = fresh;
		markLinks();
		if (place) goTo(place);
	}

	// What is in the page now is another text than the server gave it.
	function dress() {
		sources = [];
		document.dispatchEvent(new Event("wikisync:article", { bubbles: true }));
		markLinks();
	}

	// The panel, out of reach of the theme's style ------------------------------------

	const style = new CSSStyleSheet();
	style.replaceSync(`
		:host { all: initial; font: 0.875rem/1.45 system-ui, sans-serif; color-scheme: light dark; }
		.dock { position: fixed; z-index: 2147483647; inset: auto 12px 12px; display: flex; flex-direction: column; align-items: flex-end; gap: 8px; pointer-events: none; }
		.bar, .panel { pointer-events: auto; box-sizing: border-box; background: #fff; color: #1b1b1f; border: 1px solid #73737d; box-shadow: 0 2px 12px #0004; }
		.bar { max-width: 100%; display: flex; gap: 10px; align-items: center; padding: 5px 12px; border-radius: 18px; }
		.panel { width: 100%; max-width: 900px; align-self: center; max-height: 60vh; overflow: auto; border-left: 6px solid #c1121f; border-radius: 6px; padding: 12px 16px; }
		.panel.calm { border-left-color: #8a5a00; }
		h2 { font-size: 0.9375rem; margin: 0 0 6px; }
		dl, dd, p { margin: 0; }
		dt { font-family: ui-monospace, monospace; font-weight: 600; margin-top: 8px; overflow-wrap: anywhere; }
		dd { white-space: pre-wrap; overflow-wrap: anywhere; }
		.hint { color: #55555e; }
		button { font: inherit; color: inherit; background: #eeeef2; border: 1px solid #73737d; border-radius: 5px; padding: 2px 10px; cursor: pointer; }
		.close { float: right; } button.word { background: none; border: none; padding: 0; text-decoration: underline dotted; }
		.word, .line { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .bar > * { flex: none; } .bar > .word, .bar > .line { flex: 0 1 auto; } .line:not(:empty) { border-left: 1px solid #73737d; padding-left: 10px; }
		.dot { flex: none; width: 10px; height: 10px; border-radius: 50%; background: #73737d; }
		.dot.synced { background: #1a7f37; } .dot.waiting, .dot.changed { background: #8a5a00; } .dot:is(.held, .away, .conflict) { background: #c1121f; }
		@media (max-width: 30rem) { .line { display: none; } }
		[hidden] { display: none !important; }
		@media (prefers-color-scheme: dark) {
			.bar, .panel { background: #1d1d22; color: #ececf1; }
			button { background: #33333b; } .hint { color: #b5b5c0; }
		}
		@media print { :host { display: none; } }
	`);
	const host = make("wikisync-preview");
	const root = host.attachShadow({ mode: "open" });
	root.adoptedStyleSheets = [style];
	// what is typed here is no shortcut of the page, such as / for the search
	host.addEventListener("keydown", (event) => event.key.length === 1 && !event.ctrlKey && !event.metaKey && event.stopPropagation());
	const dot = make("span", { className: "dot" });
	const word = make("button", { type: "button", className: "word", title: "What waits in the wiki" });
	const line = make("span", { className: "line" });
	const settle = make("button", { type: "button", textContent: "Settle", title: "Settle the conflict of this page", hidden: true });
	const edit = make("button", { type: "button", textContent: "Edit", hidden: true });
	const bar = make("div", { className: "bar", role: "status" }, dot, word, line, settle, edit);
	const list = make("dl");
	const title = make("h2");
	const close = make("button", { type: "button", className: "close", textContent: "Close" });
	const panel = make("section", { className: "panel", role: "alert", hidden: true }, close, title, list);
	root.append(make("div", { className: "dock" }, panel, bar));

	edit.onclick = () => write();
	settle.onclick = () => view((desk) => desk.conflict());
	word.onclick = () => view((desk) => desk.state());
	close.onclick = () => {
		dismissed = panel.dataset.shown;
		isTold = false;
		panel.hidden = true;
	};
	addEventListener("keydown", (event) => {
		if (event.key === "Escape" && !panel.hidden) close.click();
	});

	function showProblems(heading, problems, isCalm) {
		const shown = JSON.stringify([heading, problems]);
		title.textContent = heading;
		panel.classList.toggle("calm", isCalm);
		panel.dataset.shown = shown;
		list.replaceChildren(...problems.flatMap(({ where, message, hint }) => [
			make("dt", { textContent: where, hidden: !where }),
			make("dd", { textContent: message }),
			make("dd", { className: "hint", textContent: hint, hidden: !hint }),
		]));
		panel.hidden = !problems.length || shown === dismissed;
		if (!problems.length) dismissed = "";
	}

	// An answer to what a person did stays until it is closed, or a page has a problem.
	let isTold = false;

	function tell(...what) {
		isTold = true;
		showProblems(...what);
	}

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
		settle.hidden = !own.write || writer || !news.is_conflict;
		edit.hidden = !own.write || writer || !(news.file || news.key === MISSING);
		edit.title = news.file;
		edit.textContent = news.file ? "Edit" : "Create";
	}

	function markLinks() {
		const links = [...document.querySelectorAll("nav a[href]")].filter((one) => !one.hash);
		// a wiki's name leads to the same page as the first one below it
		const lasts = new Map(links.map((one) => [`${one.closest("nav").className} ${one.pathname}`, one]));
		for (const link of links) {
			const isLast = lasts.get(`${link.closest("nav").className} ${link.pathname}`) === link;
			const state = isLast ? marks[decodeURIComponent(link.pathname).slice(1)] : undefined;
			const mark = link.querySelector("wikisync-mark");
			if (mark?.dataset.state === state) continue;
			mark?.remove();
			if (!state) continue;
			const sign = make("wikisync-mark", { title: WORDS[state], textContent: state === "waiting" ? " ○" : " ●" });
			sign.setAttribute("role", "img");
			sign.setAttribute("aria-label", WORDS[state]);
			sign.dataset.state = state;
			link.append(sign);
		}
		if (own.write) for (const box of document.querySelectorAll(BOXES)) box.disabled = false;
		if (own.write) for (const link of document.querySelectorAll(red)) Object.assign(link, { tabIndex: 0, role: "button" });
	}

	// What a person decides is loaded when it is asked for.
	let last = { file: "" };
	const pageOf = () => ({ own, root, host, make, exchange, dress, moveTo, showProblems: tell, left, write, canWrite: () => Boolean(own.write && last.file && !writer), line: () => [word, line].map((one) => one.textContent).filter(Boolean).join("; "), hasFile: () => Boolean(last.file) });

	async function view(act) {
		try {
			const { Desk } = await import(own.desk);
			const desk = new Desk(pageOf());
			const acting = desk.trying(() => act(desk));
			// what is typed into a question would go with the page
			renewing = renewing.then(() => acting).catch(() => {});
			await acting;
		} catch {
			tell("This was not done", [{ where: "", message: "the preview does not answer", hint: "start it again, then reload the page" }], true);
		}
	}

	// The editor is loaded when somebody writes; a link to no page begins that page.
	const red = "main a.broken-link:not([href])";
	let writer = null;

	async function write(how) {
		if (writer) return;
		writer = { hear() {} };
		edit.hidden = true;
		try {
			const { write } = await import(own.write);
			writer = await write(pageOf(), how);
			if (last.run) writer?.hear(last);
		} catch {
			writer = null;
			edit.hidden = false;
			tell("The page cannot be edited here", [{ where: "", message: "the editor cannot be loaded", hint: "start the preview again, then reload the page" }], true);
		}
	}

	function left() {
		writer = null;
		edit.hidden = false;
		// a link that was followed has it again
		if (document.activeElement === document.body) edit.focus({ preventScroll: true });
		renewing = renewing.then(renew);
	}

	// The page has another address, and the editor stays.  From there the links around the
	// page lead elsewhere, until the page is loaded.
	let isElsewhere = false;

	function moveTo(at) {
		history.replaceState(history.state, "", `/${at.split("/").map(encodeURIComponent).join("/")}`);
		own.at = at;
		// the first word of the new address is news, whatever it says
		own.key = "";
		isElsewhere = true;
		leave();
		connect();
	}

	// A box is ticked in the text of the page: of the file, or of the editor.
	const BOXES = "main article input.task-list-item-checkbox";
	addEventListener("change", ({ target }) => {
		if (!own.write || !target.matches?.(BOXES)) return;
		const { checked } = target;
		const number = [...document.querySelectorAll(BOXES)].indexOf(target);
		target.checked = !checked;
		view((desk) => (writer?.tick ? writer : desk).tick(number, checked));
	});
	addEventListener("click", ({ target }) => {
		const link = own.write && target.closest?.(red);
		if (link) write({ href: link.title.slice(0, link.title.lastIndexOf(": ")) });
	});
	addEventListener("keydown", (event) => {
		if (event.key === "Enter" && event.target.matches?.(red)) event.target.click();
	});

	// What the server says -------------------------------------------------------------

	function hear(news) {
		tries = 0;
		last = news;
		if (writer) writer.hear(news);
		else if (news.run !== own.run) renewing = renewing.then(reload);
		else if (news.key && news.key !== own.key && !news.is_failing) {
			// one after the other; the last decides
			const isSame = isLive && (news.file || news.key === MISSING) && news.frame === own.frame;
			renewing = renewing.then(() => (news.key === own.key ? null : isSame ? renew() : reload()));
		}
		showState(news);
		marks = news.marks;
		markLinks();
		const heading = news.is_failing ? "The site cannot be brought up to date" : "This page has a problem";
		if (!isTold || news.problems.length) showProblems(heading, news.problems, !news.is_failing);
	}

	// The server says the same again where nothing is new: what is silent does not run.
	let heard = "";
	let silence = 0;
	let leave = () => {};

	function connect() {
		const socket = new WebSocket(`ws://${location.host}/-/preview/events?at=${encodeURIComponent(own.at)}`);
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
			if (event.data !== heard) hear(JSON.parse((heard = event.data)));
		};
		let retry = 0;
		socket.onclose = () => {
			clearTimeout(silence);
			heard = "";
			say("the preview has ended");
			retry = setTimeout(connect, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
		};
		leave = () => {
			clearTimeout(silence);
			clearTimeout(retry);
			heard = "";
			socket.onmessage = socket.onclose = null;
			socket.close();
		};
	}

	const begin = () => {
		isLive = [...document.scripts].every((one) => !one.src || "live" in one.dataset || one.dataset.run);
		document.body.append(host);
		takePlace();
		connect();
		if (sessionStorage.getItem("wikisync-writing") === own.at && own.write) write();
	};
	if (document.body && document.readyState !== "loading") begin();
	else addEventListener("DOMContentLoaded", begin);
})();
