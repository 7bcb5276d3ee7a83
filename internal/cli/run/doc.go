// Package run runs a CMD, under a hold of a lock, a term or a permit, or for a job. It
// passes signals on, and ends CMD when the hold is lost.
//
//	signal ──► Relay ──► the wait, until there is a hold
//	                └──► CMD, from then on
//
// [Command] is the whole of it. [Start] and [Catch] are its parts, for those who run
// many. [UnlessInterrupted] is for waits without a CMD.
package run
