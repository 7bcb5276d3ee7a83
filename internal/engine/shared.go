package engine

// Shared returns what all objects of one kind have in common, such as the
// places.Places of what they share per name: the value that create returned
// when key was asked for first. Keys are comparable, and of a type of the
// object's own package. Values stay as long as the engine, so there is none per
// name.
func (e *Engine) Shared(key any, create func() any) any {
	if there, ok := e.common.Load(key); ok {
		return there
	}
	value, _ := e.common.LoadOrStore(key, create())
	return value
}

// Spawn runs f on a goroutine that Close waits for, so f is bounded by itself.
// It is false, and f does not run, once Close has stopped waiting.
func (e *Engine) Spawn(f func()) bool { return e.spawn(f) }

// During runs f, which is short once Close has begun, on this goroutine, and
// Close waits for it. It is false, and f does not run, once Close has stopped
// waiting.
func (e *Engine) During(f func()) bool {
	if !e.begin() {
		return false
	}
	defer e.tasks.Done()
	f()
	return true
}

// Closing returns a channel that is closed when Close begins.
func (e *Engine) Closing() <-chan struct{} { return e.closing }

// WhenClosing has f run when Close begins, behind Open and before Close waits for
// anybody, or at once if it has begun. F is quick, and blocks on nobody.
func (e *Engine) WhenClosing(f func()) {
	e.wakesMu.Lock()
	defer e.wakesMu.Unlock()
	if e.Open() != nil {
		f()
		return
	}
	e.wakes = append(e.wakes, f)
}

// Shut has Open fail, closes Closing, and runs what is to run then. It is called once.
func (e *Engine) Shut() {
	e.shutting.Store(true)
	close(e.closing)
	e.wake()
}

// wake runs what is to run when Close begins.
func (e *Engine) wake() {
	e.wakesMu.Lock()
	defer e.wakesMu.Unlock()
	for _, f := range e.wakes {
		f()
	}
}

// SameSlot reports whether a script may touch all the keys: always, without a
// cluster.
func (e *Engine) SameSlot(keys ...string) bool {
	for _, key := range keys {
		if e.topo.slot(key) != e.topo.slot(keys[0]) {
			return false
		}
	}
	return true
}
