// Package admission decides about the requests of a server. Packages httplimit and grpclimit share it.
//
// A [Gate] asks its limits about a request, together and in one round trip. While the server of the limits is silent, a
// breaker answers in its place. The [Ticket] of a request remembers what was taken, so that what the request turns out to
// cost can be settled, or given back.
package admission
