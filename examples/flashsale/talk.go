package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// order is what a process is told at first, as a line of JSON on standard input.
// Then comes "go", likewise. When its standard input ends, so does the process.
type order struct {
	URL, Product, Strategy string
	Process, Buyers        int
	Think, Watchdog        time.Duration
	// FreezeAt says which of its buyers, in order of their turn, is to stay
	// inside until the process is killed. 0: none.
	FreezeAt int
}

const goWord = "go"

type kind string

const (
	ready   kind = "ready"   // connected, waits for goWord
	sold    kind = "sold"    // a buyer got a piece
	refused kind = "refused" // a buyer came too late
	holding kind = "holding" // a buyer is inside, and stays there
	done    kind = "done"    // all buyers have been served
	failed  kind = "failed"
	ended   kind = "ended" // the process has; it does not say so itself
)

// event is what a process says, as a line of JSON on standard output.
type event struct {
	Kind    kind
	Process int           `json:",omitempty"`
	Wait    time.Duration `json:",omitempty"` // from coming until being let in
	Err     string        `json:",omitempty"`
}

// speaker writes events. It may be used by several goroutines.
type speaker struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newSpeaker(out io.Writer) *speaker { return &speaker{out: json.NewEncoder(out)} }

// say cannot fail in a way that matters: without a reader the process is about
// to be ended.
func (s *speaker) say(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(e)
}
