// Package poller lets everybody in a process who waits for an element of a queue
// share a blocked connection.
//
// A server blocks a connection, not a caller, and what it pops for a connection
// is off the queue, whoever is still there to get it. So callers do not block:
// they stand in a line for the name, and a worker blocks in one command for all
// names that somebody stands in line for. What that brings goes to the first in
// line, and what nobody wants any more goes back. A caller that gives up leaves
// its line; no pop ever ends because of it.
//
//	line    who waits for one name, in order
//	group   the lines that one command may name: of one kind and one slot, and not
//	        too many
//	node    a server: the groups that it has, and the workers that block there
//	worker  one connection, on which groups have their turns
//
// The names of a command under way cannot be changed. When they should, CLIENT
// UNBLOCK ends it: it has the element then, or has taken nothing. Said before the
// command has blocked that does nothing, so it is said again until the command
// has answered. A server that has no CLIENT UNBLOCK, or denies it, is asked in
// short commands.
//
// Where there are more groups than a node may have connections, the last connection polls
// the groups that have none.
package poller
