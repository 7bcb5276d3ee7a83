// Package server says how the server is reached: flags, variables of the environment,
// password and certificates. It also tells a server that is down from one that refuses.
package server
