// What the editor of the preview uses of CodeMirror; hatch_build.py makes one file of it.
export { Compartment, EditorSelection, EditorState } from "@codemirror/state";
export { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentLess, indentMore, redo, undo } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
export { openSearchPanel, search, searchKeymap } from "@codemirror/search";
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { tags } from "@lezer/highlight";
