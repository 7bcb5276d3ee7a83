package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

// Tool is one run of the program.
type Tool struct {
	Stdin  io.Reader
	Stdout *Output
	Stderr io.Writer
	Env    []string

	server.Server
	JSON bool
}

// Say writes a message of the tool's own, which goes to standard error: standard
// output is the command's.
func (t *Tool) Say(format string, args ...any) {
	fmt.Fprintf(t.Stderr, "rueidisson: %s\n", values.Harmless(fmt.Sprintf(format, args...)))
}

// Note writes a message beside the answer to standard error, with --json as {"message"}.
func (t *Tool) Note(format string, args ...any) {
	if !t.JSON {
		t.Say(format, args...)
		return
	}
	t.SayJSON(t.Stderr, struct {
		Message string `json:"message"`
	}{fmt.Sprintf(format, args...)})
}

// SayJSON writes v as JSON, in a line of its own.
func (t *Tool) SayJSON(w io.Writer, v any) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)                                 // plain structs
	_, _ = w.Write(values.HarmlessJSON(line.Bytes())) // where the pipe is closed nobody listens
}

// Missing tells with --json that something is absent.
type Missing struct {
	Name  string `json:"name"`
	Key   string `json:"key,omitempty"`
	ID    int64  `json:"id,omitempty"`
	Found bool   `json:"found"` // never
	Error string `json:"error,omitempty"`
}

// Absent returns the ending of a command whose answer is that there is nothing. With --json the answer is an object;
// without, it is the exit code, and why if that is not nil.
func (t *Tool) Absent(told Missing, why error) error {
	if !t.JSON {
		return &exit.Error{Code: exit.Refused, Err: why}
	}
	if why != nil {
		told.Error = why.Error()
	}
	t.SayJSON(t.Stdout, told)
	return &exit.Error{Code: exit.Refused}
}

// TellDone says what was done, in JSON or in words.
func (t *Tool) TellDone(report any, format string, args ...any) error {
	if t.JSON {
		t.SayJSON(t.Stdout, report)
		return nil
	}
	fmt.Fprintf(t.Stdout, format, args...)
	return nil
}

// Removable is an object of a name that may be removed.
type Removable interface {
	Name() string
	Delete(ctx context.Context) (bool, error)
}

// TellRemoved removes an object, and says whether it was there.
func (t *Tool) TellRemoved(ctx context.Context, of Removable) error {
	did, err := of.Delete(ctx)
	if err != nil {
		return err
	}
	text := "removed"
	if !did {
		text = "there was none"
	}
	err = t.TellDone(struct {
		Name    string `json:"name"`
		Removed bool   `json:"removed"`
	}{of.Name(), did}, "%s: %s\n", of.Name(), text)
	if err == nil && !did {
		return &exit.Error{Code: exit.Refused}
	}
	return err
}

// Alone returns a value that is shown by itself: as it is, unless that goes to a terminal.
func (t *Tool) Alone(text string) string {
	if OnTerminal(t.Stdout.To) {
		return values.Harmless(text)
	}
	return text
}

// Undecoded tells of what cannot be decoded, the last of it by the end of the program.
type Undecoded struct{ Last error }

// Note returns what ends the list.
func (u *Undecoded) Note(t *Tool, err error) error {
	if err == nil || !errors.Is(err, codec.ErrDecode) {
		return err
	}
	if u.Last != nil {
		t.Say("%v", u.Last)
	}
	u.Last = err
	return nil
}
