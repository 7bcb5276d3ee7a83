package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
)

// event is one line of a record.
type event struct {
	At      int64   `json:"at"`             // of the clock that all processes share, in ns
	Proc    int     `json:"proc"`           // 0 is the process of the test
	Worker  int     `json:"worker"`         // a goroutine of the process
	Kind    string  `json:"kind"`           // see below
	Name    string  `json:"name,omitempty"` // of the object
	Hold    int64   `json:"hold,omitempty"` // numbers the calls and holds of a worker
	Shared  bool    `json:"shared,omitempty"`
	Token   int64   `json:"token,omitempty"`   // fencing token
	Outcome string  `json:"outcome,omitempty"` // error of a call
	Op      string  `json:"op,omitempty"`      // of an operation that is no hold
	Value   int64   `json:"value,omitempty"`
	Values  []int64 `json:"values,omitempty"` // what an operation saw or took
	Error   string  `json:"error,omitempty"`
	Began   int64   `json:"-"`              // of the end of an operation: when it began
	ID      string  `json:"id,omitempty"`   // of a permit
	Busy    bool    `json:"busy,omitempty"` // the error says that the server has refused
	Of      int     `json:"of,omitempty"`   // of a fault: the process that it concerns, or everyone, or nobody
}

// Kinds of events, in the order in which a worker writes them.
const (
	asks     = "asks"     // a call to acquire begins
	refused  = "refused"  // it returned an error
	trusts   = "trusts"   // the clock was read, and the hold's Err was nil after that
	lost     = "lost"     // the hold's Err was not nil
	releases = "releases" // a call to release begins
	released = "released" // it returned, with or without an error
	breaks   = "breaks"   // a fault begins
	broken   = "broken"   // it has begun
	heals    = "heals"    // it ends
	begins   = "begins"   // an operation that is no hold begins
	ends     = "ends"     // it returned
	warns    = "warns"    // the client logs that something may be lost
	fails    = "fails"    // the client logs that a script failed
	writing  = "writing"  // a write of the guarded value begins
	wrote    = "wrote"    // it returned
	delivers = "delivers" // a request that was held back reaches the server
	splits   = "splits"   // from now on there are two masters
	joins    = "joins"    // and now one again
)

// recorder appends the events of one process to a file. Each line is written at once: a process that is killed leaves what it
// did before.
type recorder struct {
	mu   sync.Mutex
	file *os.File
	proc int
}

func newRecorder(path string, proc int) (*recorder, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &recorder{file: f, proc: proc}, err
}

// put writes an event. Its time is now unless it has one. What comes after the round is of no use.
func (r *recorder) put(e event) {
	if e.At == 0 {
		e.At = now()
	}
	e.Proc = r.proc
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.Write(append(line, '\n')); err != nil && !errors.Is(err, os.ErrClosed) {
		panic(err)
	}
}

// readRecord returns the events of a file. The last line of a process that was killed may be cut short: it is dropped and counted.
func readRecord(path string) (events []event, cut int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	lines := bytes.Split(text, []byte("\n"))
	if last := lines[len(lines)-1]; len(last) > 0 {
		cut = 1
	}
	for i, line := range lines[:len(lines)-1] {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, cut, fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
		events = append(events, e)
	}
	return events, cut, nil
}
