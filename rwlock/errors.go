package rwlock

import "errors"

// ErrUpgrade is returned by Lock and TryLock of [Lock.Write] under a context that carries a read
// hold of the same lock: the writer would wait for its own reader. Nothing was sent. Under a write
// hold's context, also if a read hold was taken within it, the write side re-enters.
var ErrUpgrade = errors.New("a read hold cannot become a write hold: unlock it first")
