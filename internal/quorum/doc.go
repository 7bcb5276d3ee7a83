// Package quorum makes one hold of the holds of several locks: of all of them (package multilock), or of more than half
// (package redlock).
//
// A [Held] is trusted while enough of its parts are, each by its own lease. A part that ends tells it:
//
//	acquiring --Start--> held --a part ended, enough are left--> held
//	    |                 |
//	    | Wake            +--a part ended, too few are left--> lost: the seat is told, the other parts are unlocked
//	    v                 +--Release--> released
//	 a part ended
//
// A [Round] asks members at the same time, each by a goroutine of its own client.
package quorum
