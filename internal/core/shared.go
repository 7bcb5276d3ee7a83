package core

// Shared returns what all objects of one kind have in common, such as the
// places.Places of what they share per name: the value that create returned
// when key was asked for first. Keys are comparable, and of a type of the
// object's own package. Values stay as long as the client, so there is none per
// name.
func (c *Core) Shared(key any, create func() any) any {
	if there, ok := c.common.Load(key); ok {
		return there
	}
	value, _ := c.common.LoadOrStore(key, create())
	return value
}

// During runs f, which is short once Close has begun, on this goroutine, and
// Close waits for it. It is false, and f does not run, once Close has stopped
// waiting.
func (c *Core) During(f func()) bool {
	if !c.Begin() {
		return false
	}
	defer c.Tasks.Done()
	f()
	return true
}

// Closing returns a channel that is closed when Close begins.
func (c *Core) Closing() <-chan struct{} { return c.closing }

// WhenClosing has f run when Close begins, behind Open and before Close waits for
// anybody, or at once if it has begun. F is quick, and blocks on nobody.
func (c *Core) WhenClosing(f func()) {
	c.wakesMu.Lock()
	defer c.wakesMu.Unlock()
	if c.Open() != nil {
		f()
		return
	}
	c.wakes = append(c.wakes, f)
}
