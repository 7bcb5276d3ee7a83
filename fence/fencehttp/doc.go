// Package fencehttp carries fencing tokens over HTTP, and refuses old ones.
//
// A client's [Transport] copies the token from the request's context into the header [Header]; the
// context of a fenced lock's hold carries one. In the server, a [Gate] checks the token of each
// request. It has to be of the right lock, and not older than the newest token that has passed. The
// gate puts the token into the request's context, for the writes of the handler:
//
//	428 Precondition Required  no token
//	400 Bad Request            not a token, more than one, or one of another lock
//
//	428 Precondition Required  no token
//	400 Bad Request            what is no token, more than one, or of another lock
//	412 Precondition Failed    an older token
//	503 Service Unavailable    the store of the gate did not answer
//
// An equal token passes, as the same holder's: a hold may make many requests. If both sides name
// the owner, an equal token of another owner does not pass.
//
// # What it does not promise
//
// The gate checks when a request comes. A handler that is slow, or was paused, may still write
// after a newer one. Where that would do harm, let the write check the token in the request's
// context, with fence.SQL or lock.Guard.
//
// The store of [NewGate] is the memory of the process: it is lost when the process ends, and other
// processes do not see it. A service of several processes gives the gate a [Store] that all of them
// share.
package fencehttp
