// Package pubsub lets any number of waiters share a few subscriber connections: one dedicated connection
// per Redis node, one subscription per channel, one goroutine per node. A channel is a name and its kind: plain,
// sharded or a pattern. Who uses sharded channels beside the others has a second connection, and goroutine, for
// them on each node; see [Line].
//
// # What stands, and who decides
//
// A channel is what waiters join. A seat is a channel's place on one node: what we want there (somebody
// listens, or the channel lingers) and what the server has (it confirmed the subscription). Callers change
// only what is wanted. The node's worker alone talks to the server: it compares, sends what differs, waits
// for the answers, and compares again. Since a worker has one exchange under way at a time, a channel never
// has a subscribe and an unsubscribe in flight together, and whatever happened meanwhile is seen by the
// next comparison.
//
//	             join                    confirmed
//	(no seat) ─────────► wanted, not had ─────────► wanted, had ◄──────────┐
//	    ▲                ▲  │  ▲                       │   │ last leave    │ join
//	    │        refused:│  │  │   connection lost,    │   ▼               │
//	    │  retry later   └──┘  └─── server-sent ───────┘ lingering, had ───┘
//	    │                           unsubscribe            │
//	    └───────────────── UNSUBSCRIBE confirmed ◄─────────┘ linger over
//
// An unsubscription that the server reports is our own exactly if the worker is waiting for the answer to
// one: the answer comes behind the report on the same connection. Any other is the server's doing (a slot
// moved away) and is answered by subscribing again, on the node the server then names.
//
// # What listeners may rely on
//
// After Subscribe has returned, no message that is sent while the subscription stands is missed. Where it
// did not stand for a while, the listener is told [Resumed] once it does again, because messages may have
// been missed; who asks by Subscription.Losses is told [Lost] before, where that is noticed. A message may come twice while a channel moves from one node to another: it is a hint, and
// the data in Redis decides.
//
// # Silent servers
//
// A connection whose server says nothing any more is found in three ways: rueidis pings idle connections,
// an exchange that is not answered within Options.Timeout ends its connection, and every Options.Check the
// worker repeats one subscription that stands, which changes nothing on a server that is alive.
package pubsub
