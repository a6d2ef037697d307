import { mount } from "./app/mount";
import { openPageEngine } from "./app/open";

const root = document.getElementById("app");
if (root) void mount(root, openPageEngine());
