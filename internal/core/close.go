package core

// Shut has Open fail, closes Closing, and runs what is to run then. Once is enough.
func Shut(c *Core) {
	if c.shutting.Swap(true) {
		return
	}
	close(c.closing)
	c.wakesMu.Lock()
	defer c.wakesMu.Unlock()
	for _, f := range c.wakes {
		f()
	}
}

// End ends the tasks and goroutines: none begin any more, and those under way are waited for.
func End(c *Core) {
	c.Tasks.stop()
	c.Tasks.wait()
	c.crew.End()
}
