package election

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	announceScript = scripts.Must(lua, "lua/announce.lua")
	departScript   = scripts.Must(lua, "lua/depart.lua")
	leaderScript   = scripts.Must(lua, "lua/leader.lua")
)

// kept is the time to live of a term after its leader's last write.
var kept = strconv.FormatInt(core.Millis(24*time.Hour), 10)

// protocol is the election of one name on the server, without the lock.
type protocol struct {
	e    *locking.Engine
	name string // mapped
	term string // key, and channel
}

func newProtocol(e *locking.Engine, mapped string) *protocol {
	return &protocol{e: e, name: mapped, term: keys.Term(mapped)}
}

func (p *protocol) key() core.Key { return core.Key{Kind: kind, Name: p.name} }

// announce publishes the leader and its value. It returns false if owner does not hold the lock.
func (p *protocol) announce(ctx context.Context, owner string, token, version int64, value string) (bool, error) {
	args := []string{
		owner, strconv.FormatInt(token, 10), strconv.FormatInt(version, 10), value, kept, p.e.Publish(), p.term,
	}
	answer, err := p.e.Run(ctx, announceScript, []string{p.name, p.term}, args)
	if err != nil {
		return false, err
	}
	n, err := answer.AsInt64()
	return n > 0, err
}

// depart deletes what owner has published.
func (p *protocol) depart(ctx context.Context, owner string) error {
	_, err := p.e.Run(ctx, departScript, []string{p.term}, []string{owner, p.e.Publish(), p.term})
	return err
}

// sight is the state of an election on the server at one moment.
type sight struct {
	left  time.Duration // of the holder's lease; negative: the lock is free, or its lease never ends
	last  int64         // token of the last term; 0: unknown
	owner string        // of the present term; "": there is none
	after int64         // token of the term before it
	value string
}

func (p *protocol) leader(ctx context.Context) (s sight, err error) {
	answer, err := p.e.Run(ctx, leaderScript, []string{p.name, p.term}, nil)
	if err != nil {
		return s, err
	}
	fields, err := answer.ToArray()
	if err != nil || len(fields) != 2 && len(fields) != 5 {
		return s, fmt.Errorf("leader.lua answered %v: %w", fields, err)
	}
	left, err := fields[0].AsInt64()
	if err != nil {
		return s, err
	}
	s.left = time.Duration(left) * time.Millisecond
	if s.last, err = fields[1].AsInt64(); err != nil {
		return s, err
	}
	p.e.SawToken(p.name, s.last)
	if len(fields) == 2 {
		return s, nil
	}
	if s.owner, err = fields[2].ToString(); err != nil {
		return s, err
	}
	if s.after, err = fields[3].AsInt64(); err != nil {
		return s, err
	}
	s.value, err = fields[4].ToString()
	return s, err
}
