// Package combine sends the calls of one process about one key together.
//
// The first call on a key goes out at once. Calls that come while its exchange
// is under way wait, and go out as one batch, in arrival order, as soon as it
// has landed:
//
//	call 1 ──▶ ├── exchange [1] ──┤
//	call 2 ──────▶ waits ········ ├── exchange [2 3 4] ──┤
//	call 3 ─────────▶ waits ····· │                      │
//	call 4 ───────────▶ waits ··· │                      │
//
// So nobody is delayed while a key is idle, and a crowd on one key costs one
// exchange for each round trip, however large it is. There is neither a
// goroutine nor memory for a key on which no call is under way.
//
// # Who flies
//
// A call on an idle key whose context cannot end makes the exchange itself, on
// its own goroutine, and never waits for the others: what came meanwhile is
// flown by a goroutine from Spawn. With a context that can end, a goroutine
// from Spawn flies, and the caller waits for it or for its context. A flight
// after a crowd stands back once for the scheduler, so that those whom the last
// answer woke join it; the flight of a lone call does not.
//
// # Several flights
//
// With one flight at a time, a call that just missed one waits for nearly two
// round trips. With Flights above one, the next may leave while others are under
// way, but only a gap after the last departure: 250 µs, or the smoothed round
// trip divided by Flights, if that is more. Where an exchange takes less, there
// is one flight at a time, and batches are as full as they can be; where it takes
// a millisecond and Flights is 4, a call waits for at most a quarter of it. An
// alarm is set only while somebody waits for such a departure: a timer, or where
// the runtime's timers are too coarse (on an idle Linux they are a millisecond
// late) a goroutine from Spawn that sleeps on a finer one.
//
// Batches of one key that are under way together may be served in either order.
//
// # Leaving
//
// A caller whose context ends has its answer then: an error that wraps the
// context's error and its cause. If its call still waited, it is taken out and
// never sent; Gone marks the errors of the others. If it was under way, the others are not harmed, and Left is told
// of it once the exchange has succeeded, so that what was granted to nobody can
// go back; Left may use Post for that. If the answer had come already, the caller
// gets the answer instead. So each call ends in exactly one way: with an answer,
// with an error, or with Left.
//
// # Errors
//
// An error of Send is given, as it is, to every caller of the batch; nobody is
// told by Left then. The next batch goes out as if nothing had been.
//
// A panic in Send is not swallowed: it goes on where it happened, which is the
// caller's goroutine or one from Spawn. The others of the batch get ErrAborted
// first, and the key stays usable.
//
// # Closing
//
// The owner's Spawn begins to refuse. Calls that wait on a line get Closed when
// the next goroutine is asked for, which is also asked for now and then by a line
// that never idles. What was taken by Post is still sent. A call that flies on its
// own goroutine does not ask Spawn: its Send says itself that all is closed.
package combine
