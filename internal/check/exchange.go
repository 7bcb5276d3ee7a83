package check

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// said has the answer of the server.
type said struct {
	knows   bool
	who     string
	types   []string
	looks   []string
	denied  []int
	missing []int
}

// payload becomes the argument of the script.
type payload struct {
	Keys  []string
	Looks [][]string
	Asks  []ask
}

// MarshalJSON keeps the bytes of names that are no UTF-8, which JSON has no way to write.
func (p payload) MarshalJSON() ([]byte, error) {
	type shown struct { // of an ask
		Command string `json:"command"`
		Words   []any  `json:"words"`
		On      []int  `json:"on"`
	}
	all := struct {
		Keys  []any   `json:"keys"`
		Looks [][]any `json:"looks"`
		Asks  []shown `json:"asks"`
	}{[]any{}, [][]any{}, []shown{}}
	for _, key := range p.Keys {
		all.Keys = append(all.Keys, written(key))
	}
	for _, look := range p.Looks {
		words := []any{}
		for _, word := range look {
			words = append(words, written(word))
		}
		all.Looks = append(all.Looks, words)
	}
	for _, a := range p.Asks {
		words := []any{}
		for _, word := range a.Words {
			words = append(words, written(word))
		}
		all.Asks = append(all.Asks, shown{a.Command, words, a.On})
	}
	return json.Marshal(all)
}

// written returns a text that is no UTF-8 as the array of its hexadecimal digits, and anything else as it is.
func written(word any) any {
	if text, is := word.(string); is && !utf8.ValidString(text) {
		return [...]string{hex.EncodeToString([]byte(text))}
	}
	return word
}

// ask asks the server, in one exchange for each slot.
func (p *plan) ask(ctx context.Context) error {
	got, err := p.exchange(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for i, key := range p.o.Keys {
		is := got.types[i]
		if key.Each || key.Type == "" || is == "" || is == "none" || is == key.Type {
			continue
		}
		wrong = append(wrong, fmt.Errorf("%w: key %q is of type %s, and not %s", core.ErrWrongKind, key.Name, is, key.Type))
	}
	for i, look := range p.o.Looks {
		if err := look.Judge(got.looks[i]); err != nil {
			wrong = append(wrong, err)
		}
	}
	for _, i := range got.missing {
		if a := p.asks[i-1]; !newer[a.Command] && !strings.HasPrefix(a.Command, ofModule) {
			wrong = append(wrong, fmt.Errorf("%w: the server has no command %s: its configuration renames it, or its version does not have it",
				core.ErrNotPermitted, strings.ToUpper(p.name(a))))
		}
	}
	if wrong = append(wrong, p.refused(ctx, got)...); len(wrong) == 0 {
		return nil
	}
	return findings(wrong)
}

func (p *plan) exchange(ctx context.Context) (said, error) {
	e, o := p.o.Engine, p.o
	keys := []string{} // those that commands are asked for
	for _, key := range o.Keys {
		if !key.More {
			keys = append(keys, key.Name)
		}
	}
	of := payload{Keys: keys, Looks: [][]string{}, Asks: p.asks}
	for _, look := range o.Looks {
		of.Looks = append(of.Looks, look.Words)
	}
	near := len(keys)
	if e.Cluster() {
		near = 0
		for near < len(keys) && e.SameSlot(keys[0], keys[near]) {
			near++
		}
	}
	got, err := p.send(ctx, keys[:near], of)
	if err != nil || near == len(o.Keys) {
		return got, err
	}
	got.types = append(got.types, make([]string, len(o.Keys)-len(got.types))...)
	return got, p.elsewhere(ctx, near, &got)
}

// mostLooked bounds the keys of one exchange.
const mostLooked = 512

// elsewhere looks at the types of the keys from one on: those of other slots than the first, and those with More.
func (p *plan) elsewhere(ctx context.Context, from int, got *said) error {
	most := mostLooked
	if p.o.Engine.Cluster() {
		most = 1
	}
	var parts [][]int // indexes of keys
	for i := from; i < len(p.o.Keys); i++ {
		switch last := len(parts) - 1; {
		case p.o.Keys[i].Each:
		case last >= 0 && len(parts[last]) < most:
			parts[last] = append(parts[last], i)
		default:
			parts = append(parts, []int{i})
		}
	}
	return Parallel(len(parts), func(n int) error {
		keys := make([]string, len(parts[n]))
		for i, k := range parts[n] {
			keys[i] = p.o.Keys[k].Name
		}
		one, err := p.send(ctx, keys, payload{Keys: keys, Looks: [][]string{}, Asks: []ask{}})
		if err == nil {
			for i, k := range parts[n] {
				got.types[k] = one.types[i]
			}
		}
		return err
	})
}

// send makes one exchange. Where the user may not name the keys, they are named in an argument.
func (p *plan) send(ctx context.Context, keys []string, of payload) (got said, err error) {
	text, err := json.Marshal(of)
	if err != nil {
		return got, err
	}
	e := p.o.Engine
	node := ""
	if len(keys) > 0 || !e.Cluster() {
		node = e.Node(strings.Join(keys[:min(1, len(keys))], ""))
	}
	asked := p.question.Asks(node)
	answer, err := e.RunTold(ctx, checkScript, keys, []string{string(text)}, asked.Failed)
	if denied(err) && !strings.Contains(err.Error(), "'eval") {
		answer, err = e.RunTold(ctx, unnamed{checkScript}, keys, []string{string(text)}, asked.Failed)
	}
	switch {
	case denied(err):
		return got, fmt.Errorf("%w: no script can be run, which every object needs: %w", core.ErrNotPermitted, err)
	case err != nil:
		return got, asked.Ended(ctx, err)
	}
	asked.Answered()
	return read(answer)
}

func read(answer send.Answer) (got said, err error) {
	parts, err := answer.ToArray()
	if err != nil || len(parts) != 6 {
		return got, fmt.Errorf("check.lua answered %d parts: %w", len(parts), err)
	}
	knows, _ := parts[0].AsInt64()
	got.knows = knows == 1
	got.who, _ = parts[1].ToString()
	if got.types, err = parts[2].AsStrSlice(); err != nil {
		return got, err
	}
	if got.looks, err = parts[3].AsStrSlice(); err != nil {
		return got, err
	}
	for i, into := range []*[]int{&got.denied, &got.missing} {
		numbers, err := parts[4+i].AsIntSlice()
		if err != nil {
			return got, err
		}
		for _, n := range numbers {
			*into = append(*into, int(n))
		}
	}
	return got, nil
}
