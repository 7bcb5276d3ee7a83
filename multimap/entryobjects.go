package multimap

import (
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// Lock returns the lock of k, whether the key exists or not. A client that does not acquire it can still change the
// values. Its name is {name}:<hash of the key>:lock. If the key cannot be used, the operations of the lock return
// [ErrInvalidArgument], and so do those of the other objects of a key. Source: RListMultimap.getLock, RSetMultimap.getLock.
func (m *multi[K, V]) Lock(k K) *lock.Lock {
	err := m.bad
	var key string
	if err == nil {
		key, err = m.codecs.Key(k)
	}
	if err != nil {
		return lockkit.Unusable[lock.Lock](m.e, m.name, m.failed("lock of", err))
	}
	return lock.New(m.e, keys.EntryLock(m.names.index, key)) // a name mapper maps it once more, as in Java
}

// FairLock returns the fair lock of k, there or not, {name}:<hash of the key>:fairlock. Source: RMultimap.getFairLock.
func (m *multi[K, V]) FairLock(k K) *fairlock.Lock {
	return fairlock.New(m.e, m.entryObject(k, "fairlock"))
}

// RWLock returns the read-write lock of k, there or not, {name}:<hash of the key>:rw_lock. Source:
// RMultimap.getReadWriteLock.
func (m *multi[K, V]) RWLock(k K) *rwlock.Lock {
	return rwlock.New(m.e, m.entryObject(k, "rw_lock"))
}

// Semaphore returns the semaphore of k, there or not, {name}:<hash of the key>:semaphore. Source: RMultimap.getSemaphore.
func (m *multi[K, V]) Semaphore(k K) *semaphore.Semaphore {
	return semaphore.New(m.e, m.entryObject(k, "semaphore"))
}

// PermitSemaphore returns the semaphore of permits with leases of k, there or not,
// {name}:<hash of the key>:permitexpirablesemaphore. Source: RMultimap.getPermitExpirableSemaphore.
func (m *multi[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore {
	return semaphore.NewPermits(m.e, m.entryObject(k, "permitexpirablesemaphore"))
}

// Latch returns the latch of k, there or not, {name}:<hash of the key>:countdownlatch. On a cluster its operations return
// [ErrInvalidArgument], because the names of latches have no braces there. Source: RMultimap.getCountDownLatch.
func (m *multi[K, V]) Latch(k K) *latch.Latch {
	return latch.New(m.e, m.entryObject(k, "countdownlatch"))
}

// entryObject returns the name of an object of k. It is empty, which each operation of the object refuses, if the handle
// or the key cannot be used. A name mapper maps it once more, as in Java.
func (m *multi[K, V]) entryObject(k K, kind string) string {
	if m.bad != nil {
		return ""
	}
	key, err := m.codecs.Key(k)
	if err != nil {
		return ""
	}
	return keys.Suffix(m.names.index, keys.GroupField(key)+":"+kind)
}
