// Package lease is the floor of a client that keeps what it holds: each lease is in the
// care of one watchdog, which renews it, and ends it in time if it cannot.
//
// # The life of a grant
//
//	           Care                        renewed
//	acquired ───────► trusted ◄──────────────────────┐
//	                   │  │  └─ due, at a third ─────┤
//	                   │  │                          │ no answer: next attempt
//	         Finish    │  │     half without answer  ▼
//	released ◄─────────┘  │     Expiring closes ── retrying
//	                      │                          │
//	                      └── server: gone ──► lost ◄┘ lease less its margin is over
//
// Trust counts from the moment before the send of the attempt that was answered. It ends
// a margin before the lease does on the server, so a holder stops believing first.
// A lease is lost once, and its [Seat] is told once of that. Close tells it, too.
//
// # Renewal
//
// The watchdog collects what is due. renewer groups it by node, slot and kind, and one
// script renews up to a hundred owners. The script only lengthens, so it may run twice.
// An attempt that was not answered goes out again over another connection.
package lease
