package redistest

import (
	"fmt"
	"strings"
)

// Exchange is a rule of [Proxy.Exchange].
type Exchange struct {
	p        *Proxy
	old, new string
	calls    int
	bad      error
}

// Exchange has the server run scripts in which a text stands in the place of another one, until Cancel: a defect on purpose,
// in the program as it is. It concerns the scripts that the proxy has seen the bodies of, see [Proxy.ScriptContaining], and
// that contain the old text once.
func (p *Proxy) Exchange(old, new string) *Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &Exchange{p: p, old: old, new: new}
	p.exchanges = append(p.exchanges, x)
	return x
}

// Calls returns how many calls of scripts were exchanged. It returns an error for a script that contains the old text more
// than once: which one was meant is not known.
func (x *Exchange) Calls() (int, error) {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	return x.calls, x.bad
}

// Cancel ends the rule.
func (x *Exchange) Cancel() {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	for i, other := range x.p.exchanges {
		if other == x {
			x.p.exchanges = append(x.p.exchanges[:i:i], x.p.exchanges[i+1:]...)
			return
		}
	}
}

// exchanged returns the command that goes to the server in the place of one. The mutex is held.
func (p *Proxy) exchanged(cmd []string) (other []string, is bool) {
	if len(p.exchanges) == 0 {
		return nil, false
	}
	known, _ := bodies.Load(calledScript(cmd))
	body, _ := known.(string)
	for _, x := range p.exchanges {
		switch strings.Count(body, x.old) {
		case 0:
			continue
		case 1:
			x.calls++
		default:
			x.bad = fmt.Errorf("redistest: proxy: a script contains %q more than once", x.old)
		}
		name := "EVAL"
		if strings.HasSuffix(strings.ToUpper(cmd[0]), "_RO") {
			name = "EVAL_RO"
		}
		return append([]string{name, strings.Replace(body, x.old, x.new, 1)}, cmd[2:]...), true
	}
	return nil, false
}
