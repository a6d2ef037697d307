// Entry of the page that is one file: opened from a disk, or in the frame of a notebook's widget.
import { mount } from "./app/mount";
import { openEngine } from "./engine";
import "./style.css";
import { mountInFrame } from "./widget/page";

const root = document.getElementById("app");
const text = document.getElementById("engine")?.textContent.trim() ?? "";
if (root && text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  void mount(root, openEngine({ bytes })).then((app) => Object.assign(window, { farlink: app }));
} else if (root) mountInFrame(root);
