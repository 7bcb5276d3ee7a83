// Package wait is the floor of a client that hears what servers publish, and waits for it.
//
// # A wait
//
//	look ── done ──► end
//	 │
//	 └─ not yet ──► subscribe ──► look ──┬─ done ──► end
//	                     ▲               └─ not yet ──► sleep
//	                     │                                │ message, the time that the
//	                     │                                │ look named, or 5 s
//	                     └── subscription lost ── look ◄──┘
//
// A message is a hint and may be lost, so every wait looks again after the subscription
// stands, and at least every 5 s. A failure that may pass is borne for a watchdog
// timeout ([send.Outage]); all who wait for one name bear it together.
//
// [Waits.Watch] is the loop, [Listener] what hears for it. Several waits behind each
// other may share a listener; then its subscription stays. [Room] is the queue of the
// goroutines of one process that wait for one name: one of them looks for all.
package wait
