package combine

// Look returns how many calls about key wait, and how many exchanges are under way.
func (t *Table[K, Q, A]) Look(key K) (waiting, flying int) {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil {
		return 0, 0
	}
	return l.waiting(), l.flying
}
