// Package keywalk looks through all keys of a server, or of all masters of a cluster, so that no key is passed over that is
// there from the beginning to the end: not while slots move, nor when a replica takes over.
//
// A cursor of SCAN means something to one process of the server only. So each server is scanned on a connection of its
// own, which cannot change its other end unnoticed. Where it breaks, the next one says whether it leads to the same process:
// if so the walk goes on there, if not the server is scanned from the beginning.
//
// On a cluster a slot has been seen when a server that had all of it was scanned from end to end, and still has all of it,
// without having given it away in between. A slot that moves has been seen when the server that gives it was scanned, and after
// that the one that gets it. Slots that have not been seen are looked for again.
package keywalk
