package rmap

import "github.com/rueidisson/rueidisson/lock"

// lockOf returns the lock of an entry. A name mapper maps its name once more, as in
// Java.
func (m *handle[K, V]) lockOf(k K) *lock.Lock {
	err := m.bad
	var key string
	if err == nil {
		key, err = m.keyText(k)
	}
	if err != nil {
		return lock.Unusable(m.h.e, m.name, m.failed("lock of", err))
	}
	return lock.New(m.h.e, m.lockName(key))
}
