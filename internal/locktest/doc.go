// Package locktest is the suite that every Locker passes, on every server: what
// a user may rely on whatever kind of lock it is. Tests read as sentences about
// "the lock".
package locktest
