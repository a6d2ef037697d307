export { createPacketView } from "./view";
