// Lets scripts of tests/ import packages from the folder that TETHER_NODE names, where ./dev has installed
// them, so that nothing is installed into the source tree. Use: node --import resolve.mjs
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const packages = pathToFileURL(`${process.env.TETHER_NODE}/package.json`).href;
const here = new URL("..", import.meta.url).href;

registerHooks({
    resolve(name, context, next) {
        const bare = /^[@\w]/.test(name) && !/^[a-z]+:/.test(name);
        const ours = context.parentURL?.startsWith(here);
        return next(name, bare && ours ? { ...context, parentURL: packages } : context);
    },
});
