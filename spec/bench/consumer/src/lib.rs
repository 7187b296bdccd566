//! Call plans as a Rust program reads them: types with serde's derived readers, strings that are
//! borrowed where nothing in them is escaped, the rules that a type can't say checked afterwards,
//! the canonical form in a buffer, Keccak-256 of it.
//!
//! In two manners. Plain: what one would write first, the canonical form by serde's derived writer
//! and digits checked one by one. Tuned: what a profile of that leads to, the canonical form put
//! together by hand and digits checked in a way that the compiler can make vectors of.
//!
//! Easier than moonplan in what derived readers let through (an array of its members' values for a
//! struct, `{"approval":null}` for a name) and in ABI types, of which only the syntax is looked at;
//! like the bench, it lets every required capability pass.
//! tiny-keccak is a little faster here than sha3 0.10, and `from_str` than `from_slice`.

use std::borrow::Cow;
use std::os::raw::c_char;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use tiny_keccak::{Hasher, Keccak};

/// `Cow` alone borrows in the field of a struct, but not inside of `Option` and `Vec`.
#[derive(Deserialize, Serialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members that are written, and their order, are the canonical form's.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Plan<'a> {
    #[serde(borrow)]
    schema_version: Text<'a>,
    #[serde(borrow)]
    chain_id: Text<'a>,
    #[serde(borrow, skip_serializing)]
    caip2_chain_id: Text<'a>,
    #[serde(borrow)]
    sender: Text<'a>,
    #[serde(borrow)]
    ordered_steps: Vec<Step<'a>>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing)]
    required_capabilities: Option<Vec<Text<'a>>>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing)]
    simulation_failure_policy: Option<Policy<'a>>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing)]
    extensions: Option<&'a RawValue>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Step<'a> {
    step: usize,
    kind: Kind,
    #[serde(borrow)]
    transaction: Transaction<'a>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing)]
    revert_decode: Option<RevertDecode<'a>>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Execution,
    Approval,
    AllowanceCleanup,
    SignatureDependentExecution,
    Other,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Transaction<'a> {
    #[serde(borrow)]
    chain_id: Text<'a>,
    #[serde(borrow)]
    from: Text<'a>,
    #[serde(borrow)]
    to: Text<'a>,
    #[serde(borrow)]
    data: Text<'a>,
    #[serde(borrow)]
    value: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing)]
    gas: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RevertDecode<'a> {
    #[serde(rename = "kind")]
    _kind: RevertKind,
    #[serde(borrow)]
    abi: &'a RawValue,
    #[serde(rename = "required", default)]
    _required: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RevertKind {
    ErrorResult,
}

/// One entry of an ABI; it may have members that are not here.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(rename = "type")]
    kind: EntryKind,
    #[serde(borrow, default, deserialize_with = "present")]
    name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    inputs: Option<Vec<Parameter<'a>>>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum EntryKind {
    Error,
    Function,
    Constructor,
    Fallback,
    Receive,
    Event,
}

#[derive(Deserialize)]
struct Parameter<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    components: Option<Vec<Parameter<'a>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy<'a> {
    #[serde(borrow)]
    rpc_error: Directive<'a>,
    #[serde(borrow)]
    execution_reverted: Directive<'a>,
    #[serde(borrow)]
    simulation_setup_error: Directive<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Directive<'a> {
    action: Action,
    #[serde(borrow)]
    instruction: Text<'a>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Action {
    RetrySamePlan,
    RepreparePlan,
    UserReview,
}

/// A member that may be left out, but not be null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

// The document's and the calldata's are those that the bench sets, the rest are the defaults.
const STEPS_MOST: usize = 4096;
const CALLDATA_MOST: usize = 1 << 28;
const DOCUMENT_MOST: usize = 1 << 28;
const EXTENSIONS_MOST: usize = 65536;
const ABI_MOST: usize = 65536;
const ABI_ENTRIES_MOST: usize = 128;
const CAPABILITIES_MOST: usize = 32;
const CAPABILITY_MOST: usize = 64;
const INSTRUCTION_MOST: usize = 2000;
const UINT256_MOST: &str =
    "115792089237316195423570985008687907853269984665640564039457584007913129639935";

fn is_quantity(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.len() <= UINT256_MOST.len()
        && bytes.iter().all(u8::is_ascii_digit)
        && (bytes.first() != Some(&b'0') || text.len() == 1)
        && !text.is_empty()
        && (text.len() < UINT256_MOST.len() || text <= UINT256_MOST)
}

fn is_lower_hex<const TUNED: bool>(digits: &[u8]) -> bool {
    let of = |digit: u8| digit.is_ascii_digit() | (b'a'..=b'f').contains(&digit);
    if TUNED {
        let all = |part: &[u8]| part.iter().fold(true, |good, &digit| good & of(digit));
        digits.chunks(32).all(all)
    } else {
        digits.iter().all(|&digit| of(digit))
    }
}

fn is_bytes<const TUNED: bool>(text: &str) -> bool {
    match text.strip_prefix("0x") {
        Some(digits) => digits.len() % 2 == 0 && is_lower_hex::<TUNED>(digits.as_bytes()),
        None => false,
    }
}

fn is_address<const TUNED: bool>(text: &str) -> bool {
    text.len() == 42 && is_bytes::<TUNED>(text)
}

fn is_identifier(text: &str) -> bool {
    let of = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    text.bytes().next().map_or(false, of)
        && text.bytes().all(|byte| of(byte) || byte.is_ascii_digit())
}

fn is_type(parameter: &Parameter) -> bool {
    let text = &*parameter.kind.0;
    let (name, mut arrays) = text.split_at(text.find('[').unwrap_or(text.len()));
    while let Some(rest) = arrays.strip_prefix('[') {
        match rest.split_once(']') {
            Some((size, rest)) if size.is_empty() || (is_quantity(size) && size != "0") => {
                arrays = rest
            }
            _ => return false,
        }
    }
    arrays.is_empty()
        && is_identifier(name)
        && match &parameter.components {
            Some(components) => name == "tuple" && components.iter().all(is_type),
            None => name != "tuple",
        }
}

fn is_abi(abi: &RawValue) -> bool {
    if abi.get().len() > ABI_MOST {
        return false;
    }
    let entries: Vec<Entry> = match serde_json::from_str(abi.get()) {
        Ok(entries) => entries,
        Err(_) => return false,
    };
    let mut errors = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Error)
        .peekable();
    entries.len() <= ABI_ENTRIES_MOST
        && errors.peek().is_some()
        && errors.all(|error| {
            matches!((&error.name, &error.inputs), (Some(name), Some(inputs))
                if is_identifier(&name.0) && inputs.iter().all(is_type))
        })
}

fn is_capability(name: &str) -> bool {
    (1..=CAPABILITY_MOST).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_instruction(text: &str) -> bool {
    (1..=INSTRUCTION_MOST).contains(&text.len())
        || (1..=INSTRUCTION_MOST).contains(&text.chars().count())
}

fn is_policy(policy: &Policy) -> bool {
    let all = [
        &policy.rpc_error,
        &policy.execution_reverted,
        &policy.simulation_setup_error,
    ];
    all.iter()
        .all(|directive| is_instruction(&directive.instruction.0))
        && all[1..]
            .iter()
            .all(|directive| directive.action != Action::RetrySamePlan)
}

fn is_step<const TUNED: bool>(step: &Step, number: usize, plan: &Plan) -> bool {
    let transaction = &step.transaction;
    step.step == number
        && transaction.chain_id.0 == plan.chain_id.0
        && transaction.from.0 == plan.sender.0
        && is_address::<TUNED>(&transaction.to.0)
        && is_bytes::<TUNED>(&transaction.data.0)
        && is_quantity(&transaction.value.0)
        && transaction
            .gas
            .as_ref()
            .map_or(true, |gas| is_quantity(&gas.0))
        && step
            .revert_decode
            .as_ref()
            .map_or(true, |revert| is_abi(revert.abi))
}

fn is_plan<const TUNED: bool>(plan: &Plan) -> bool {
    let steps = &plan.ordered_steps;
    let calldata = |step: &Step| (step.transaction.data.0.len() - 2) / 2;
    plan.schema_version.0 == "1"
        && is_quantity(&plan.chain_id.0)
        && plan.caip2_chain_id.0.strip_prefix("eip155:") == Some(&*plan.chain_id.0)
        && is_address::<TUNED>(&plan.sender.0)
        && (1..=STEPS_MOST).contains(&steps.len())
        && (1..)
            .zip(steps)
            .all(|(number, step)| is_step::<TUNED>(step, number, plan))
        && steps.iter().map(calldata).sum::<usize>() <= CALLDATA_MOST
        && plan.required_capabilities.as_ref().map_or(true, |names| {
            names.len() <= CAPABILITIES_MOST && names.iter().all(|name| is_capability(&name.0))
        })
        && plan
            .simulation_failure_policy
            .as_ref()
            .map_or(true, is_policy)
        && plan.extensions.map_or(true, |extensions| {
            extensions.get().starts_with('{') && extensions.get().len() <= EXTENSIONS_MOST
        })
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Execution => "execution",
            Kind::Approval => "approval",
            Kind::AllowanceCleanup => "allowance_cleanup",
            Kind::SignatureDependentExecution => "signature_dependent_execution",
            Kind::Other => "other",
        }
    }
}

fn write(out: &mut String, plan: &Plan) {
    let mut put = |pieces: &[&str]| pieces.iter().for_each(|piece| out.push_str(piece));
    put(&[
        r#"{"schema_version":"1","chain_id":""#,
        &plan.chain_id.0,
        r#"","sender":""#,
        &plan.sender.0,
        r#"","ordered_steps":["#,
    ]);
    for step in &plan.ordered_steps {
        let transaction = &step.transaction;
        put(&[
            if step.step > 1 { "," } else { "" },
            r#"{"step":"#,
            &step.step.to_string(),
            r#","kind":""#,
            step.kind.name(),
            r#"","transaction":{"chain_id":""#,
            &transaction.chain_id.0,
            r#"","from":""#,
            &transaction.from.0,
            r#"","to":""#,
            &transaction.to.0,
            r#"","data":""#,
            &transaction.data.0,
            r#"","value":""#,
            &transaction.value.0,
            r#""}}"#,
        ]);
    }
    put(&["]}"]);
}

fn canonical<const TUNED: bool>(plan: &Plan, most: usize) -> Option<Vec<u8>> {
    if TUNED {
        let mut out = String::with_capacity(most);
        write(&mut out, plan);
        Some(out.into_bytes())
    } else {
        let mut out = Vec::with_capacity(most);
        serde_json::to_writer(&mut out, plan).ok()?;
        Some(out)
    }
}

fn digest<const TUNED: bool>(document: &[u8]) -> Option<[u8; 32]> {
    if document.len() > DOCUMENT_MOST {
        return None;
    }
    let text = std::str::from_utf8(document).ok()?;
    let plan: Plan = serde_json::from_str(text).ok()?;
    if !is_plan::<TUNED>(&plan) {
        return None;
    }
    let mut out = [0; 32];
    let mut keccak = Keccak::v256();
    keccak.update(&canonical::<TUNED>(&plan, text.len())?);
    keccak.finalize(&mut out);
    Some(out)
}

unsafe fn answer<const TUNED: bool>(out: *mut [u8; 32], text: *const c_char, size: usize) -> bool {
    match digest::<TUNED>(std::slice::from_raw_parts(text.cast(), size)) {
        Some(digest) => {
            out.write(digest);
            true
        }
        None => false,
    }
}

/// # Safety
/// There must be `size` bytes at `text`, and room for 32 at `out`.
#[no_mangle]
pub unsafe extern "C" fn rust_digest(out: *mut [u8; 32], text: *const c_char, size: usize) -> bool {
    answer::<false>(out, text, size)
}

/// # Safety
/// As for `rust_digest`.
#[no_mangle]
pub unsafe extern "C" fn rust_digest_tuned(
    out: *mut [u8; 32],
    text: *const c_char,
    size: usize,
) -> bool {
    answer::<true>(out, text, size)
}
