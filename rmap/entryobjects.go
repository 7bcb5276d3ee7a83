package rmap

import (
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// entryObjects has the name of a map, and the objects that belong to an entry.
type entryObjects[K comparable, V any] struct{ m *handle[K, V] }

// Name returns the name that the handle was made with, before any mapping.
func (c *entryObjects[K, V]) Name() string { return c.m.Name }

// Lock returns the lock of the entry of k, whether the entry exists or not. It is the lock of RMap.getLock, which
// Redisson's compute takes. A client that does not acquire it can still change the entry: see [WithEntryLock]. Its name is {name}:<hash of the key>:lock. For a [Sharded], here and in
// the five methods below, name is that of the shard. If the key cannot be used, the operations of the lock return
// [ErrInvalidArgument], and so do those of the other objects of an entry.
func (c *entryObjects[K, V]) Lock(k K) *lock.Lock {
	err := c.m.Bad
	var key string
	if err == nil {
		key, err = c.m.Codecs.Key(k)
	}
	if err != nil {
		return lockkit.Unusable[lock.Lock](c.m.Hub.Engine, c.m.Name, c.m.Failed("lock of", err))
	}
	return lock.New(c.m.Hub.Engine, c.m.LockName(key)) // a name mapper maps it once more, as in Java
}

// The kinds of objects that an entry has, as Redisson names them.
const (
	entryFairLock = "fairlock"
	entryRWLock   = "rw_lock"
	entrySem      = "semaphore"
	entryPermits  = "permitexpirablesemaphore"
	entryLatch    = "countdownlatch"
)

// FairLock returns the fair lock of the entry of k, there or not, {name}:<hash of the key>:fairlock. Source:
// RMap.getFairLock.
func (c *entryObjects[K, V]) FairLock(k K) *fairlock.Lock {
	return fairlock.New(c.m.Hub.Engine, c.m.entryObject(k, entryFairLock))
}

// RWLock returns the read-write lock of the entry of k, there or not, {name}:<hash of the key>:rw_lock. Source:
// RMap.getReadWriteLock.
func (c *entryObjects[K, V]) RWLock(k K) *rwlock.Lock {
	return rwlock.New(c.m.Hub.Engine, c.m.entryObject(k, entryRWLock))
}

// Semaphore returns the semaphore of the entry of k, there or not, {name}:<hash of the key>:semaphore. Source:
// RMap.getSemaphore.
func (c *entryObjects[K, V]) Semaphore(k K) *semaphore.Semaphore {
	return semaphore.New(c.m.Hub.Engine, c.m.entryObject(k, entrySem))
}

// PermitSemaphore returns the semaphore of permits with leases of the entry of k, there or not,
// {name}:<hash of the key>:permitexpirablesemaphore. Source: RMap.getPermitExpirableSemaphore.
func (c *entryObjects[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore {
	return semaphore.NewPermits(c.m.Hub.Engine, c.m.entryObject(k, entryPermits))
}

// Latch returns the latch of the entry of k, whether the entry exists or not. Its name is {name}:<hash of the key>:countdownlatch.
// On a cluster its operations return [ErrInvalidArgument], because the names of latches have no braces there. Source:
// RMap.getCountDownLatch.
func (c *entryObjects[K, V]) Latch(k K) *latch.Latch {
	return latch.New(c.m.Hub.Engine, c.m.entryObject(k, entryLatch))
}

// entryObject returns the name of an object of the entry of k: empty, which each of its operations
// refuses, if the handle or the key cannot be used. A name mapper maps it once more, as in
// Java.
func (m *handle[K, V]) entryObject(k K, kind string) string {
	if m.Bad != nil {
		return ""
	}
	key, err := m.Codecs.Key(k)
	if err != nil {
		return ""
	}
	return keys.Suffix(m.Home(key), keys.GroupField(key)+":"+kind)
}
