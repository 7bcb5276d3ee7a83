// Package tracking has servers tell when keys change: one dedicated connection
// per node with CLIENT TRACKING in its default mode, opened with the first key
// that is watched there, and one goroutine.
//
// The server remembers what a tracked connection has read, and tells it once when
// that changes, goes, expires or is flushed. So a watch is armed: PTTL on that
// connection, which reads the key and says until when it is there. What is read
// anywhere else from then on counts until the watch is told [Listener.Dropped].
// What comes by a connection comes in its order: an answer says that every change
// from before its question has been told. That is [Listener.Alive], and how old it
// may grow is the listener's to say: a silent connection tells nothing.
//
// A key that is not there is not armed: in a cluster its slot may move away
// without a word. One that is there leaves a word when it goes with its slot, for
// the keys beside it, too, which are armed with it: they need not be there. The
// check of a node asks it for its role, or on a cluster again for each key that is
// used: a master that was deposed, or cut off from the others, refuses.
package tracking
