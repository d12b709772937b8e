extends RefCounted
## What the running game costs: the engine's monitors and the game's own, now or over some seconds.

const MONITORS: Dictionary[String, Performance.Monitor] = {
	"fps": Performance.TIME_FPS,
	"process_ms": Performance.TIME_PROCESS,
	"physics_ms": Performance.TIME_PHYSICS_PROCESS,
	"memory_mb": Performance.MEMORY_STATIC,
	"objects": Performance.OBJECT_COUNT,
	"resources": Performance.OBJECT_RESOURCE_COUNT,
	"nodes": Performance.OBJECT_NODE_COUNT,
	"orphan_nodes": Performance.OBJECT_ORPHAN_NODE_COUNT,
	"draw_calls": Performance.RENDER_TOTAL_DRAW_CALLS_IN_FRAME,
	"primitives": Performance.RENDER_TOTAL_PRIMITIVES_IN_FRAME,
	"video_mb": Performance.RENDER_VIDEO_MEM_USED,
	"physics_2d_active": Performance.PHYSICS_2D_ACTIVE_OBJECTS,
	"physics_3d_active": Performance.PHYSICS_3D_ACTIVE_OBJECTS,
}


static func measure(tree: SceneTree, seconds: float) -> Dictionary:
	var samples: Dictionary[String, PackedFloat64Array] = {}
	var begin: int = Time.get_ticks_usec()
	var last: int = begin
	while true:
		await tree.process_frame
		var now: int = Time.get_ticks_usec()
		_add(samples, "frame_ms", (now - last) / 1000.0)
		last = now
		for name: String in MONITORS:
			_add(samples, name, Performance.get_monitor(MONITORS[name]) * _factor(name))
		for name: StringName in Performance.get_custom_monitor_names():
			var value: Variant = Performance.get_custom_monitor(name)
			if value is float or value is int:
				_add(samples, name, value)
		if now - begin >= 1000000.0 * seconds:
			break
	var result: Dictionary = {"frames": samples["frame_ms"].size(), "seconds": snappedf((last - begin) / 1000000.0, 0.001), "monitors": {}}
	for name: String in samples:
		result["monitors"][name] = _summary(samples[name])
	return result


static func _add(samples: Dictionary[String, PackedFloat64Array], name: String, value: float) -> void:
	if not samples.has(name):
		samples[name] = PackedFloat64Array()
	samples[name].append(value)


static func _factor(name: String) -> float:
	return 1000.0 if name.ends_with("_ms") else 1.0 / 1048576.0 if name.ends_with("_mb") else 1.0


## One number if it never changed, the spread if it did.
static func _summary(values: PackedFloat64Array) -> Variant:
	var sorted: PackedFloat64Array = values.duplicate()
	sorted.sort()
	if sorted[0] == sorted[-1]:
		return snappedf(sorted[0], 0.001)
	return {"min": snappedf(sorted[0], 0.001), "median": snappedf(sorted[floori(sorted.size() / 2.0)], 0.001),
			"p99": snappedf(sorted[ceili(sorted.size() * 0.99) - 1], 0.001), "max": snappedf(sorted[-1], 0.001),
			"now": snappedf(values[-1], 0.001)}
