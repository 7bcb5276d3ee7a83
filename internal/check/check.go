// Package check looks at an object before it is used: at the types of its keys, and at what the user of the server may do.
// It writes nothing.
//
// The commands of an object are those in the Lua of its scripts, see [scripts.CommandsOf], and the plain ones that its
// package declares. Every command is asked for on every key of the type that it is for.
package check

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// The types of keys, as TYPE names them.
const (
	String = "string"
	Hash   = "hash"
	List   = "list"
	Set    = "set"
	ZSet   = "zset"
	Stream = "stream"
	JSON   = "ReJSON-RL"
)

// Object describes an object on the server.
type Object struct {
	Engine     *locking.Engine
	Kind, Name string // for errors
	Bad        error  // of the handle
	Keys       []Key  // the name first, unless it is none
	Channels   []pubsub.Channel
	Commands   []Commands
	Looks      []Look
}

// Key is one of the keys of an object.
type Key struct {
	Name string
	Type string // "" if it may be any
	Each bool   // it stands for many whose names are not known, and is not looked at
	More bool   // another key stands for it: its type is looked at, and no command is asked for
}

// Keys returns keys of one type.
func Keys(is string, names ...string) []Key {
	all := make([]Key, len(names))
	for i, name := range names {
		all[i] = Key{Name: name, Type: is}
	}
	return all
}

// Each returns a key that represents all keys with that prefix.
func Each(is, prefix string) Key { return Key{Name: prefix + "0", Type: is, Each: true} }

// shown returns the name for errors.
func (k Key) shown() string {
	if k.Each {
		return strings.TrimSuffix(k.Name, "0") + "*"
	}
	return k.Name
}

// Look is a command that reads, whose answer tells objects of one type apart.
type Look struct {
	Words []string
	Judge func(answer string) error // "" if there is none
}

// Commands returns names of commands, in lower case.
type Commands func() []string

// Scripts returns the commands of the scripts in the files of fsys that match one of the patterns; without those that
// match one behind a "!". The files are read once, when they are first asked for.
func Scripts(fsys fs.FS, patterns ...string) Commands {
	return sync.OnceValue(func() []string {
		names, err := scripts.CommandsOf(fsys, patterns...)
		if err != nil {
			panic(err.Error()) // as scripts.Must
		}
		return slices.DeleteFunc(names, func(name string) bool { return optional[name] })
	})
}

// Script returns the commands of scripts of other packages.
func Script(of ...*scripts.Script) Commands {
	return func() (names []string) {
		for _, s := range of {
			names = append(names, scripts.CommandsIn(s.Body())...)
		}
		return slices.DeleteFunc(names, func(name string) bool { return optional[name] })
	}
}

// Sent returns the commands that are sent as they are.
func Sent(ops ...interface{ Label() string }) Commands {
	return func() []string {
		names := make([]string, len(ops))
		for i, op := range ops {
			names[i] = strings.ToLower(op.Label())
		}
		return names
	}
}

// Named returns commands that are sent by other packages.
func Named(names ...string) Commands { return func() []string { return names } }

// Need is a command that an object needs, and what it needs it for: a key, a channel, or neither.
type Need struct {
	Command      string
	Key, Channel string
	Type         string // of the key, "" if it may be any
	Each         bool   // the key, or the channel, stands for all that begin like it
}

type listing struct{}

// Listing returns a context in which checks do no I/O, and tell add what they would ask for. Checks may do so at the same time.
func Listing(ctx context.Context, add func(needs []Need)) context.Context {
	return context.WithValue(ctx, listing{}, add)
}

// Lists reports whether ctx is one of [Listing]. Then a check names all keys, also those that another key represents.
func Lists(ctx context.Context) bool { return ctx != nil && ctx.Value(listing{}) != nil }

//go:embed lua/*.lua
var lua embed.FS

var checkScript = scripts.Must(lua, "lua/check.lua")

// Run checks an object. Its error joins all that is wrong.
func Run(ctx context.Context, o Object) error {
	err := run(ctx, &o)
	several, is := err.(findings)
	if !is {
		return object.Failed("check", o.Kind, o.Name, err)
	}
	all := make([]error, len(several))
	for i, one := range several {
		all[i] = object.Failed("check", o.Kind, o.Name, one)
	}
	return errors.Join(all...)
}

// findings is all that is wrong with an object.
type findings []error

func (f findings) Error() string { return errors.Join(f...).Error() }

func run(ctx context.Context, o *Object) error {
	if err := object.Usable(ctx, o.Engine, o.Bad); err != nil {
		return err
	}
	p := planOf(o)
	if add, is := ctx.Value(listing{}).(func([]Need)); is {
		add(p.needs())
		return nil
	}
	_, err, answered := send.Await(o.Engine.Sender, ctx, 0, func() (struct{}, error) { return struct{}{}, p.ask(ctx) })
	if !answered {
		err = p.question.Left(ctx, err)
	}
	return err
}

// ask is one command on keys.
type ask struct {
	Command string
	Words   []any // false stands for the key
	On      []int // from 1
	channel string
}

// plan lists the questions about an object.
type plan struct {
	o        *Object
	asks     []ask
	question send.Question
}

func planOf(o *Object) *plan {
	o.Keys = slices.Clone(o.Keys)
	slices.SortStableFunc(o.Keys, func(a, b Key) int { return cmp.Compare(btoi(a.More), btoi(b.More)) })
	names := []string{"eval", "evalsha"}
	if o.Engine.ReplicaAcks > 0 {
		names = append(names, "wait")
	}
	for _, of := range o.Commands {
		names = append(names, of()...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == scripts.Publishes })
	slices.Sort(names)
	p := &plan{o: o}
	for _, name := range slices.Compact(names) {
		of := formOf(name)
		if of.channel {
			continue // it is asked for by the channels
		}
		a := ask{Command: of.command, Words: of.words, On: []int{}}
		for i, key := range o.Keys {
			if !key.More && !of.keyless && (of.is == "" || key.Type == "" || of.is == key.Type) {
				a.On = append(a.On, i+1)
			}
		}
		if of.keyless || len(a.On) > 0 {
			p.asks = append(p.asks, a)
		}
	}
	for _, c := range o.Channels {
		verbs := []string{"subscribe", "unsubscribe", "publish"}
		switch c.Kind {
		case pubsub.Sharded:
			verbs = []string{"ssubscribe", "sunsubscribe", "spublish"}
		case pubsub.Pattern:
			verbs = []string{"psubscribe", "punsubscribe"}
		}
		for _, verb := range verbs {
			words := []any{c.Name}
			if strings.HasSuffix(verb, "publish") {
				words = append(words, "")
			}
			p.asks = append(p.asks, ask{Command: verb, Words: words, On: []int{}, channel: c.Name})
		}
	}
	return p
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *plan) needs() (all []Need) {
	for _, a := range p.asks {
		name := p.name(a)
		for _, i := range a.On {
			key := p.o.Keys[i-1]
			all = append(all, Need{Command: name, Key: key.Name, Type: key.Type, Each: key.Each})
		}
		if len(a.On) == 0 {
			all = append(all, Need{Command: name, Channel: a.channel})
		}
	}
	return all
}

// name returns the command with its subcommand, as an ACL has it.
func (p *plan) name(a ask) string {
	if len(a.Words) > 0 && containers[a.Command] {
		return fmt.Sprint(a.Command, "|", a.Words[0])
	}
	return a.Command
}

// denied reports whether an ACL has refused a command.
func denied(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "NOPERM")
}

// refused returns an error for what the user may not do: one for each command that is refused on all of its keys, one for
// each key on which everything is refused, and one for each other pair.
func (p *plan) refused(ctx context.Context, got said) []error {
	if len(got.denied) == 0 {
		return nil
	}
	refused := map[[2]int]bool{}
	for i := 0; i+1 < len(got.denied); i += 2 {
		refused[[2]int{got.denied[i] - 1, got.denied[i+1]}] = true
	}
	closed := make([]bool, len(p.o.Keys)+1) // keys on which nothing may be done
	for k := range closed {
		asked, no := 0, 0
		for i, a := range p.asks {
			if slices.Contains(a.On, k) {
				asked++
				if refused[[2]int{i, k}] {
					no++
				}
			}
		}
		closed[k] = asked > 0 && asked == no
	}
	user := p.user(ctx, got.who)
	var all []error
	say := func(format string, args ...any) {
		all = append(all, fmt.Errorf("%w: %s may not "+format, append([]any{core.ErrNotPermitted, user}, args...)...))
	}
	whole := p.commands(refused, closed, say)
	for k, no := range closed {
		if no {
			say("use key %q", p.o.Keys[k-1].shown())
		}
	}
	for i, a := range p.asks {
		for _, k := range a.On {
			if refused[[2]int{i, k}] && !closed[k] && !whole[i] {
				say("run %s on key %q", strings.ToUpper(p.name(a)), p.o.Keys[k-1].shown())
			}
		}
	}
	return all
}

// commands says which commands may not be run at all, and returns their numbers.
func (p *plan) commands(refused map[[2]int]bool, closed []bool, say func(format string, args ...any)) map[int]bool {
	whole := map[int]bool{}
	for i, a := range p.asks {
		name := strings.ToUpper(p.name(a))
		switch {
		case len(a.On) == 0 && refused[[2]int{i, 0}] && a.channel != "":
			say("run %s on channel %q", name, a.channel)
		case len(a.On) == 0 && refused[[2]int{i, 0}]:
			say("run %s", name)
		case len(a.On) > 0 && !slices.ContainsFunc(a.On, func(k int) bool { return !refused[[2]int{i, k}] }):
			if slices.ContainsFunc(a.On, func(k int) bool { return !closed[k] }) {
				whole[i] = true
				say("run %s", name)
			}
		}
	}
	return whole
}

// user names who asks, as far as that may be asked for.
func (p *plan) user(ctx context.Context, by string) string {
	e := p.o.Engine
	switch by {
	case "whoami":
		if name, err := e.Redis.Do(ctx, e.Redis.B().AclWhoami().Build()).ToString(); err == nil {
			return fmt.Sprintf("user %q", name)
		}
	case "info":
		info, _ := e.Redis.Do(ctx, e.Redis.B().ClientInfo().Build()).ToString()
		for _, field := range strings.Fields(info) {
			if name, is := strings.CutPrefix(field, "user="); is {
				return fmt.Sprintf("user %q", name)
			}
		}
	}
	return "the user"
}
