// Package send is the floor of a client that exchanges something with a server: a script
// or a command, its answer or its loss.
//
// # One request
//
//	        ┌────────── refused, for at most 3 s ──────────┐
//	        ▼                                              │
//	send ──────► answer: done                              │
//	        ├──► refused (LOADING, OOM, MOVED, no route …) ┘  nothing was done
//	        ├──► final   (WRONGTYPE, NOPERM …)                the error is the caller's
//	        └──► lost    (no answer, the connection broke)    it may have been done
//	              │
//	              ├─ Repeatable: sent again on another connection, up to 4 lost
//	              │  replies; the answer is marked Replayed
//	              └─ not Repeatable, or enough: ErrOutcomeUnknown
//
// classify tells the three apart. [Sender.Run] is the loop. Each send has a bound of its
// own (SendTimeout, at most 3 s); the caller's context ends the repetition and not the
// send. What is longer than a megabyte has the time of its length (see [Sized]), and a
// connection that no short request waits behind.
//
// # Calls that travel together
//
//	call ──► fewer than 16 under way, or it takes something ───► goes by itself
//	   └───► more: joins the queue ──► a worker lets others run
//	                                   once, takes what is queued ──► one pipeline
//
// A batch waits for no answer and for no timer ([batcher] in batch.go). Each member keeps its answer
// and error; one whose script the server does not know goes on by itself. On a cluster there is a queue for each node, whose
// own client sends; a call that is sent elsewhere goes on by itself. Long calls, those that block and renewals stay out.
// So does what takes something, such as LPOP: its lost reply would lose what it took (scripts.Unsafe). What may run only
// once and takes nothing (scripts.Once) is in the pipeline, and is not sent again if the reply is lost.
//
// # A call that outlives its caller
//
// [Await] runs a call on a goroutine of its own, so that the caller can leave it. Whoever
// leaves says how what the call may still do is undone: [Sender.CleanUpLater] repeats a task
// until the server has answered, by one worker for each node. While calls travel together a call stays
// on its caller's goroutine, which may leave each send ([Leaving], [Sent]). [Sender.SeeThrough] is the
// same for what the caller asked for, such as a release.
//
// # Requests that run once
//
// A [Request] has a number in a lane, and the server keeps the last number with its
// answer for [RequestMemory]. A repeated request gets that answer, and an overtaken one
// does nothing. [Sender.Settle] goes on asking about a request without an answer.
//
// # Where a key is
//
// [Topology] knows the nodes of the slots, and the master behind Sentinel. Whoever meets an
// error marks it stale (MarkStale). Whoever needs a node next has the map asked for in the background,
// at most every 100 ms.
package send
