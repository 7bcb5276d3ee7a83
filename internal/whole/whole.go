// Package whole does what is done to an object as a whole, whatever it has in its keys: it is deleted, renamed, copied,
// measured, and expires.
package whole

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	expireScript = scripts.Must(lua, "lua/expire.lua")
	copyScript   = scripts.Must(lua, "lua/copy.lua")
	renameScript = scripts.Must(lua, "lua/rename.lua")

	exists = scripts.NewCommand("EXISTS", scripts.Reads)
	pttl   = scripts.NewCommand("PTTL", scripts.Reads)

	// Unlink deletes keys.
	Unlink = scripts.NewCommand("UNLINK", scripts.Once)
)

// The commands that an object sends from here, for its check.
var (
	ScriptCommands = check.Scripts(lua, "lua/*.lua")
	SizeCommands   = check.Script(send.SizeScript)
	KeyCommands    = check.Sent(exists, pttl, Unlink)
)

// Object is an object on the server: its name, and its keys.
type Object struct {
	Engine *locking.Engine
	Kind   string // "queue", for errors
	Type   string // "list", of its first key, for errors
	Name   string // as the caller wrote it
	Key    string // as it is mapped
	KeysOf func(key string) []string
	Keys   []string // all of them, Key first
	Bad    error    // what every operation returns, if the handle cannot be used
}

// New returns an object of that name, which can be used.
func New(e *locking.Engine, kind, of, name string, keysOf func(key string) []string) Object {
	key := e.Map(name)
	return Object{Engine: e, Kind: kind, Type: of, Name: name, Key: key, KeysOf: keysOf, Keys: keysOf(key)}
}

// Alone returns the keys of an object that has one.
func Alone(key string) []string { return []string{key} }

// Delete deletes all keys, and reports whether there was one.
func (o *Object) Delete(ctx context.Context) (there bool, err error) {
	if err = o.Usable(ctx); err == nil {
		there, err = Write(ctx, o, send.Yes, Unlink, o.Keys)
	}
	return there, o.Failed("delete", err)
}

// Exists reports whether there is the first key.
func (o *Object) Exists(ctx context.Context) (there bool, err error) {
	if err = o.Usable(ctx); err == nil {
		there, err = Read(ctx, o, send.Yes, exists)
	}
	return there, o.Failed("look for", err)
}

// Expire deletes all keys when d has passed.
func (o *Object) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = send.CheckTTL("time to live", d); err == nil {
		there, err = o.setTime(ctx, strconv.FormatInt(core.Millis(d), 10))
	}
	return there, o.Failed("expire", err)
}

// ExpireAt deletes all keys at a time, by the clock of the server.
func (o *Object) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	ms, err := send.Instant(at)
	if err == nil {
		there, err = o.setTime(ctx, ms)
	}
	return there, o.Failed("expire", err)
}

// Persist removes the time, and reports whether there was one.
func (o *Object) Persist(ctx context.Context) (had bool, err error) {
	had, err = o.setTime(ctx, "")
	return had, o.Failed("persist", err)
}

// Remaining returns how long the object stays: 0 if there is none, -1 if it has no end.
func (o *Object) Remaining(ctx context.Context) (left time.Duration, err error) {
	if err = o.Usable(ctx); err == nil {
		left, err = send.Remainder(Read(ctx, o, send.Number, pttl))
	}
	return left, o.Failed("look at", err)
}

// Rename gives the object another name, over an object that has that name.
func (o *Object) Rename(ctx context.Context, to string) (bool, error) {
	return o.pairs(ctx, "rename", to, renameScript, "0", "0")
}

// RenameBy is Rename of an object that is there if its n-th key is.
func (o *Object) RenameBy(ctx context.Context, to string, n int) (bool, error) {
	return o.pairs(ctx, "rename", to, renameScript, "0", strconv.Itoa(2*n-1))
}

// RenameIfAbsent is Rename if nothing has the new name.
func (o *Object) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return o.pairs(ctx, "rename", to, renameScript, "1", "0")
}

// RenameIfAbsentBy is RenameIfAbsent of an object that is there if its n-th key is. Other keys of the new name are no object.
func (o *Object) RenameIfAbsentBy(ctx context.Context, to string, n int) (bool, error) {
	return o.pairs(ctx, "rename", to, renameScript, "1", strconv.Itoa(2*n-1))
}

// Copy copies the object under another name, if nothing has that name.
func (o *Object) Copy(ctx context.Context, to string) (bool, error) {
	return o.pairs(ctx, "copy", to, copyScript, "0")
}

// CopyBy is Copy of an object that is there if its n-th key is. Other keys of the new name are no object.
func (o *Object) CopyBy(ctx context.Context, to string, n int) (bool, error) {
	return o.pairs(ctx, "copy", to, copyScript, strconv.Itoa(2*n-1))
}

// SizeInMemory returns about how many bytes the keys take on the server.
func (o *Object) SizeInMemory(ctx context.Context) (n int64, err error) {
	if err = o.Usable(ctx); err == nil {
		n, err = send.Reading(o.Engine.Sender, ctx, func() (int64, error) { return o.Engine.SizeInMemory(ctx, o.Keys) })
	}
	return n, o.Failed("measure", err)
}

// setTime lets the object expire at a time in ms since 1970, or never if there is none.
func (o *Object) setTime(ctx context.Context, ms string) (bool, error) {
	if err := o.Usable(ctx); err != nil {
		return false, err
	}
	return Write(ctx, o, send.Yes, expireScript, o.Keys, ms)
}

// pairs runs a script about the keys of the object and those of one of another name.
func (o *Object) pairs(ctx context.Context, op, to string, by send.Operation, args ...string) (done bool, err error) {
	var on []string
	if err = o.Usable(ctx); err == nil {
		on, err = object.Renamed(o.Engine, o.Key, to, o.KeysOf)
	}
	if err == nil {
		done, err = Write(ctx, o, send.Yes, by, on, args...)
	}
	return done, o.Failed(op, err)
}

// Usable checks what every operation needs.
func (o *Object) Usable(ctx context.Context) error { return object.Usable(ctx, o.Engine, o.Bad) }

// Failed names the operation and the object in an error that is not nil.
func (o *Object) Failed(op string, err error) error {
	if send.WrongType(err) {
		if len(o.Keys) > 1 {
			err = fmt.Errorf("one of the keys %q is of another type: %w", o.Keys, err)
		} else {
			err = fmt.Errorf("key %q is no %s: %w", o.Key, o.Type, err)
		}
	}
	return object.Failed(op, o.Kind, o.Name, err)
}

// Read sends one command about the first key that changes nothing. ctx bounds the wait for it.
func Read[A any](ctx context.Context, o *Object, as func(send.Answer, error) (A, error), cmd send.Operation, args ...string) (A, error) {
	return send.Reading(o.Engine.Sender, ctx, func() (A, error) { return as(o.Engine.Run(ctx, cmd, []string{o.Key}, args)) })
}

// Write sends one command, or script, that changes something, and takes nothing
// that would be lost. ctx bounds the wait for it; it may be done still when that
// has ended.
func Write[A any](ctx context.Context, o *Object, as func(send.Answer, error) (A, error), op send.Operation, on []string, args ...string) (A, error) {
	return send.Sent(o.Engine.Sender, ctx, func(ctx context.Context) (A, error) { return as(o.Engine.Run(ctx, op, on, args)) })
}

// WriteBriefly is [Write] of what an operation of its own writes: a server without memory refuses it after few tries.
func WriteBriefly[A any](ctx context.Context, o *Object, as func(send.Answer, error) (A, error), op send.Operation, on []string, args ...string) (A, error) {
	return send.Sent(o.Engine.Sender, ctx, func(ctx context.Context) (A, error) {
		return as(o.Engine.RunBriefly(ctx, op, on, args))
	})
}
