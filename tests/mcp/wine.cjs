// Wine 8 does not know how long a connection may be idle before it is looked after, and Node.js then makes none.
const { Socket } = require("node:net");

Socket.prototype.setKeepAlive = function () {
    return this;
};
