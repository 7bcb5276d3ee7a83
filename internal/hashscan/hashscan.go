// Package hashscan walks the fields of a hash, page by page.
//
// A page is bounded by what the server reads for it, and so by the time that it takes: about 1 MB and 2000 fields. It has
// one field at least. The first page asks for one field, each later one for as many as have a page's bytes if they are
// like those of the page before, and at most for four times as many.
//
// A cursor of HSCAN means nothing to another server, which would pass over fields. So a [Walk] remembers which server gave
// its cursor, and begins anew if another one answers, as after a failover or a slot migration. A server that refuses INFO
// cannot be told from another one.
package hashscan

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	// Script reads a page and looks how large its values are.
	Script = scripts.Must(lua, "lua/scan.lua")
	// ServerScript reads which server has a hash.
	ServerScript = scripts.Must(lua, "lua/server.lua")
	// Command reads a page by a number of fields.
	Command = scripts.NewCommand("HSCAN", scripts.Reads)

	byScript  = send.Sized(Script, send.Sizing{})
	byCommand = send.Sized(Command, send.Sizing{})
)

const (
	// DefaultPage is how many fields a page has at most if nothing else is said.
	DefaultPage = 500
	// MostPage is the largest page that may be asked for.
	MostPage = 100_000
	// MostBytes is how many bytes a page has, about.
	MostBytes = 1 << 20
	// MostGrowth is how many times as many fields as the page before a page may have.
	MostGrowth = 4

	// mostFields bounds the fields of a page.
	mostFields = 2000
	// fewFields may have large values. A page of few is read by the script, which looks at their lengths.
	fewFields = 10

	someServer = "some server" // one that does not tell its name
)

// Config has the settings of a walk.
type Config struct {
	Match string // a glob; empty: all
	Page  int    // fields of a page
}

// SetPage sets the size of a page.
func (c *Config) SetPage(n int) error {
	if n < 1 || n > MostPage {
		return fmt.Errorf("%w: a page of %d entries: from 1 to %d", core.ErrInvalidArgument, n, MostPage)
	}
	c.Page = min(n, mostFields)
	return nil
}

// Check refuses a glob if the fields are not text.
func (c Config) Check(text bool) error {
	if c.Match != "" && !text {
		return fmt.Errorf("%w: WithMatch is for keys of codec.Text", core.ErrInvalidArgument)
	}
	return nil
}

// Ask is a page that the server is asked for.
type Ask struct {
	Config
	Cursor string // "0" at the start
	Count  int    // fields to ask for first
	Last   int64  // bytes of the page before
}

// Words returns the arguments of HSCAN in addition to the key, the cursor and the count.
func (a Ask) Words() []string {
	if a.Match == "" {
		return nil
	}
	return []string{"MATCH", a.Match}
}

// Bounds returns the arguments of walk.lua that bound a page.
func (a Ask) Bounds() []string {
	return []string{strconv.Itoa(a.Count), strconv.Itoa(a.Page), strconv.Itoa(MostBytes)}
}

// Expecting returns op with an answer as long as the page before suggests.
func (a Ask) Expecting(op send.Operation) send.Operation { return Page{Bytes: a.Last}.Expecting(op) }

// Page is the answer.
type Page struct {
	Next   string   // where to go on; "0" at the end
	Texts  []string // fields, each with its value after it if values were asked for
	Passed int64    // fields that the server went through
	Bytes  int64    // that it read
	Server string   // that answered; empty: it did not say
	Left   []string // fields for whose values the page had no room
}

// Count returns how many fields may be asked for after a page.
func (p Page) Count(c Config) int {
	n := min(int64(c.Page), MostGrowth*max(p.Passed, 1))
	if p.Bytes > 0 {
		n = min(n, MostBytes*p.Passed/p.Bytes)
	}
	return int(max(n, 1))
}

// Expecting returns how the next page is read. A large page is read on a connection of its own,
// so that no other command waits for a walk.
func (p Page) Expecting(op send.Operation) send.Operation {
	if p.Bytes < MostBytes/4 {
		return op
	}
	return send.Expect(op, max(p.Bytes, MostBytes))
}

// Walk is how far a walk has come, and on which server.
type Walk struct {
	cursor, server string
	count          int   // fields that the next page begins with
	bytes          int64 // of the page before
}

// Begin returns a walk at its start.
func Begin() Walk { return Walk{cursor: "0", count: 1} }

// Over reports whether a walk is at its end, after a step.
func (w Walk) Over() bool { return w.cursor == "0" }

// Step reads the next page. read may be called several times: the page of the last call counts, which is the first page of
// another server if that has answered. server asks which server has the hash.
func (w Walk) Step(c Config, read func(Ask) (Page, error), server func() (string, error)) (Walk, error) {
	for {
		p, err := read(Ask{c, w.cursor, w.count, w.bytes})
		if err != nil || w.server == "" && p.Next == "0" { // all in one
			return Walk{cursor: p.Next}, err
		}
		says := p.Server != ""
		if !says {
			p.Server, err = server()
		}
		if err != nil || p.Server == w.server || w.server == "" && says {
			return Walk{p.Next, p.Server, p.Count(c), p.Bytes}, err
		}
		// That it is known now says nothing of a first page which did not say it.
		w = Walk{"0", p.Server, p.Count(c), p.Bytes}
	}
}

// Read reads a page of the hash of that key. The first page, a page of few fields, and fields without values are read by a
// script that looks how large they are. Other pages are read by HSCAN, followed by a script call which asks the
// server who it is. The values of Left are for the caller to read.
func Read(ctx context.Context, e *locking.Engine, key string, a Ask, values bool) (Page, error) {
	if a.Cursor == "0" || !values || a.Count <= fewFields {
		with := "0"
		if values {
			with = "1"
		}
		args := slices.Concat([]string{a.Cursor}, a.Bounds(), []string{with}, a.Words())
		return ByScript(e.Run(ctx, a.Expecting(byScript), []string{key}, args))
	}
	f := send.Follower{Script: ServerScript}
	args := append([]string{a.Cursor, "COUNT", strconv.Itoa(a.Count)}, a.Words()...)
	got, err := e.Run(f.Under(ctx), a.Expecting(byCommand), []string{key}, args)
	if err != nil {
		return Page{}, err
	}
	entry, err := got.AsScanEntry()
	if err != nil {
		return Page{}, err
	}
	p := Page{Next: strconv.FormatUint(entry.Cursor, 10), Texts: entry.Elements, Passed: int64(max(a.Count, len(entry.Elements)/2))}
	for _, text := range entry.Elements {
		p.Bytes += int64(len(text))
	}
	if said, followed := f.Answer(); followed {
		if server, bad := serverOf(said.ToMessage()); bad == nil { // else Step asks for it
			p.Server = server
		}
	}
	return p, nil
}

// ByScript returns a page from the answer of a script that includes walk.lua.
func ByScript(got send.Answer, err error) (p Page, _ error) {
	if err != nil {
		return p, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return p, err
	}
	if len(parts) != 6 {
		return p, fmt.Errorf("a page of %d parts", len(parts))
	}
	var failed [6]error
	p.Next, failed[0] = parts[0].ToString()
	p.Texts, failed[1] = parts[1].AsStrSlice()
	p.Passed, failed[2] = parts[2].AsInt64()
	p.Bytes, failed[3] = parts[3].AsInt64()
	p.Server, failed[4] = parts[4].ToString()
	p.Left, failed[5] = parts[5].AsStrSlice()
	return p, errors.Join(failed[:]...)
}

// Server returns a name that the server of a key has from its start to its end. A server that does not tell it cannot be
// told from another one.
func Server(ctx context.Context, e *locking.Engine, key string) (string, error) {
	got, err := e.Run(ctx, ServerScript, []string{key}, nil)
	switch {
	case err != nil:
		return "", err
	case got.Nil:
		return someServer, nil
	}
	return got.ToString()
}

func serverOf(msg rueidis.RedisMessage, err error) (string, error) {
	switch {
	case rueidis.IsRedisNil(err):
		return someServer, nil
	case err != nil:
		return "", err
	}
	return msg.ToString()
}
