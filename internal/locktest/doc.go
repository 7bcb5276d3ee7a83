// Package locktest is the suite that every Locker passes, on every server: what
// a user may rely on whatever kind of lock it is. Tests read as sentences about
// "the lock". It also has what tests of locks have in common: clients, holds, and waits for what has to happen.
package locktest
