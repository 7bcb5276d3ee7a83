package run

import (
	"os"
	"os/signal"
	"slices"
	"sync"
)

// relay passes the signals that the process gets to the current handler: the wait, or CMD.
type relay struct {
	in   chan os.Signal
	over chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	handle func(os.Signal)
}

// Catch catches signals from now on. One that the process was told to
// ignore, as nohup does, stays ignored, for CMD too.
func Catch(handle func(os.Signal)) *relay {
	r := &relay{in: make(chan os.Signal, 16), over: make(chan struct{}), handle: handle}
	if heeded := slices.DeleteFunc(slices.Clone(passedSignals), signal.Ignored); len(heeded) > 0 {
		signal.Notify(r.in, heeded...) // without a list it would catch all there are
	}
	r.done.Go(r.run) // ends with stop
	return r
}

func (r *relay) run() {
	for {
		select {
		case sig := <-r.in:
			r.mu.Lock()
			r.handle(sig)
			r.mu.Unlock()
		case <-r.over:
			return
		}
	}
}

// to runs change, which returns who gets the signals from now on, or nil to leave
// that as it is. Those that come while it runs are kept for its result: a signal
// finds either the wait or CMD, and is never lost between them.
func (r *relay) to(change func() (handle func(os.Signal))) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if handle := change(); handle != nil {
		r.handle = handle
	}
}

// Stop stops catching signals.
func (r *relay) Stop() {
	signal.Stop(r.in)
	close(r.over)
	r.done.Wait()
}
