// Package turn changes one value on a server by functions of what it is. Functions of one process on one value queue, and
// take turns:
//
//	      ┌──────────────── another client was faster ────────────────┐
//	      ▼                                                            │
//	read ──► each function, in the order of their arrival ──► write if the value is still what was read ──► outcomes
//	         gets what the one before it has made
//
// A turn applies all functions that wait to one read, and writes once. The comparison on the server alone decides whether
// that is done. If it is not, all of it is done again with what is there instead. Then each function has its own result.
// A function whose result rests on what others of its turn have made, and was not written, has the error of the write.
//
// A caller that leaves before its function was called takes it along. The panic of a function continues in its caller,
// and so does the end of its goroutine. The others of the turn do not notice.
//
// Between read and write lies a round trip. A client near the server writes hundreds of times while a client that is
// further away has one try. So a turn that has lost for long leaves a [Claim] next to the value, with its next try. The
// turns of other processes stand back while the claim exists. It is advice, and it is deleted with the change, or
// expires.
package turn
