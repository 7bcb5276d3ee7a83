package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rueidisson/rueidisson/codec"
)

// tool is one run of the program.
type tool struct {
	stdin  io.Reader
	stdout *output
	stderr io.Writer
	env    []string

	server
	json bool
}

// say writes a message of the tool's own, which goes to standard error: standard
// output is the command's.
func (t *tool) say(format string, args ...any) {
	fmt.Fprintf(t.stderr, "rueidisson: %s\n", harmless(fmt.Sprintf(format, args...)))
}

// sayJSON writes v as JSON, in a line of its own.
func (t *tool) sayJSON(w io.Writer, v any) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)                          // plain structs
	_, _ = w.Write(harmlessJSON(line.Bytes())) // where the pipe is closed nobody listens
}

// absentTold tells with --json that something is absent.
type absentTold struct {
	Name  string `json:"name"`
	Key   string `json:"key,omitempty"`
	ID    int64  `json:"id,omitempty"`
	Found bool   `json:"found"` // never
	Error string `json:"error,omitempty"`
}

// absent returns the ending of a command whose answer is that there is nothing. With --json the answer is an object;
// without, it is the exit code, and why if that is not nil.
func (t *tool) absent(told absentTold, why error) error {
	if !t.json {
		return &ending{code: exitRefused, err: why}
	}
	if why != nil {
		told.Error = why.Error()
	}
	t.sayJSON(t.stdout, told)
	return &ending{code: exitRefused}
}

// tellDone says what was done, in JSON or in words.
func (t *tool) tellDone(report any, format string, args ...any) error {
	if t.json {
		t.sayJSON(t.stdout, report)
		return nil
	}
	fmt.Fprintf(t.stdout, format, args...)
	return nil
}

// removable is an object of a name that may be removed.
type removable interface {
	Name() string
	Delete(ctx context.Context) (bool, error)
}

// tellRemoved removes an object, and says whether it was there.
func (t *tool) tellRemoved(ctx context.Context, of removable) error {
	did, err := of.Delete(ctx)
	if err != nil {
		return err
	}
	text := "removed"
	if !did {
		text = "there was none"
	}
	err = t.tellDone(struct {
		Name    string `json:"name"`
		Removed bool   `json:"removed"`
	}{of.Name(), did}, "%s: %s\n", of.Name(), text)
	if err == nil && !did {
		return &ending{code: exitRefused}
	}
	return err
}

// alone returns a value that is shown by itself: as it is, unless that goes to a terminal.
func (t *tool) alone(text string) string {
	if onTerminal(t.stdout.to) {
		return harmless(text)
	}
	return text
}

// undecoded tells of what cannot be decoded, the last of it by the end of the program.
type undecoded struct{ last error }

// note returns what ends the list.
func (u *undecoded) note(t *tool, err error) error {
	if err == nil || !errors.Is(err, codec.ErrDecode) {
		return err
	}
	if u.last != nil {
		t.say("%v", u.last)
	}
	u.last = err
	return nil
}
