// Package fencehttp carries fencing tokens over HTTP, and refuses old ones.
//
// A client's [Transport] puts the token that the request's context carries into
// the header [Header]; the context of a fenced lock's hold carries one. In the
// server, a [Gate] lets a request pass only with a token of the right lock that
// is not older than the newest that it has let pass, and puts the token into the
// request's context, for what the handler writes:
//
//	428 Precondition Required  no token
//	400 Bad Request            what is no token, more than one, or of another lock
//	412 Precondition Failed    an older token
//	503 Service Unavailable    the store of the gate did not answer
//
// An equal token passes, as the same holder's: a hold may make many requests. If
// both sides name the owner, one of another owner does not.
//
// # What it does not promise
//
// The gate looks when a request comes. A handler that is slow, or was paused, may
// still write behind a newer one; where that would do harm, let the write ask:
// with fence.SQL, or lock.Guard, by the token in the request's context.
//
// The store of [NewGate] is the memory of the process: it forgets when that ends,
// and no other process knows it. A service of several processes gives the gate a
// [Store] that all of them share.
package fencehttp
