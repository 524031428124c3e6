package configs

// Noise lengthens steps at random, see fleet.Noise. An absent section is none.
type Noise struct {
	Jitter            float64 `yaml:"jitter" bound:"[0,10]" doc:"mean of what a step lasts longer, an exponential share of it; 0: none"`
	NeighbourShare    float64 `yaml:"neighbour_share" bound:"[0,1]" doc:"of the periods in which a neighbour slows a replica down; 0: none"`
	NeighbourSlowdown float64 `yaml:"neighbour_slowdown" bound:"[1,100]" unit:"times" doc:"times as long a step lasts then"`
	NeighbourPeriodS  float64 `yaml:"neighbour_period_s" bound:"(1e-12,horizon]" doc:"seconds that a neighbour comes or stays away for"`
}

// defaultNoise is none: a neighbour must be given with its share.
func defaultNoise() *Noise { return &Noise{NeighbourSlowdown: 1, NeighbourPeriodS: 1} }

// check refuses noise that shortens steps, and a neighbour of which only half is said.
func (n *Noise) check(c *checker) {
	if n == nil {
		return
	}
	const share, slowdown, period = "noise.neighbour_share", "noise.neighbour_slowdown", "noise.neighbour_period_s"
	for _, of := range []struct{ key, example string }{{slowdown, "1.5"}, {period, "10"}} {
		switch given := c.origins.given(of.key); {
		case n.NeighbourShare > 0 && !given:
			c.fail(of.key, "missing beside neighbour_share %g; expected a number such as %s", n.NeighbourShare, of.example)
		case given && !c.origins.given(share):
			c.fail(of.key, "has no effect without neighbour_share; expected a share such as 0.1 beside it")
		}
	}
}
